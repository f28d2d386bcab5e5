package dashboard

import (
	"fmt"
	"math"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/internal/plural"
)

// overviewData is what the first page shows.
type overviewData struct {
	Counts          braid.Counts
	Tiles           []tile
	Workers         int
	Slots, InFlight int
	Charts          []chart
	Runs, Failures  int64 // of the last hour
	Counted         bool  // the store counts runs
	Queues          []queueRow
	MoreQueues      int
	Failed          []jobRow // the latest failures
}

type tile struct {
	State, Label string
	Count        int64
	Bad          bool // worth a look
}

const (
	overviewQueues = 12
	overviewFailed = 6
)

func overview(c *call) (*page, error) {
	data := overviewData{}
	var err error
	if data.Counts, err = c.client.Counts(c.ctx, ""); err != nil {
		return nil, err
	}
	data.Tiles = tiles(data.Counts)
	if err := data.addWorkers(c); err != nil {
		return nil, err
	}
	if err := data.addCharts(c); err != nil {
		return nil, err
	}
	if data.Queues, data.MoreQueues, err = queueRows(c, overviewQueues); err != nil {
		return nil, err
	}
	failed, err := c.client.List(c.ctx, braid.ListFilter{States: []braid.State{braid.Failed}, OrderBy: braid.ByFinishedAt, Limit: overviewFailed})
	if err != nil {
		return nil, err
	}
	data.Failed = jobRows(failed.Jobs)
	return &page{name: "overview", Title: "Overview", Tab: "overview", Data: data}, nil
}

func tiles(counts braid.Counts) []tile {
	return []tile{
		{"waiting", "Waiting", counts.Waiting, false},
		{"active", "Active", counts.Active, false},
		{"delayed", "Delayed", counts.Delayed, false},
		{"waiting-children", "Waiting for children", counts.WaitingChildren, false},
		{"completed", "Completed", counts.Completed, false},
		{"failed", "Failed", counts.Failed, counts.Failed > 0},
	}
}

func (d *overviewData) addWorkers(c *call) error {
	workers, err := c.client.Workers(c.ctx)
	d.Workers = len(workers)
	for _, w := range workers {
		sum := slots(w.Queues)
		d.Slots, d.InFlight = d.Slots+sum.Slots, d.InFlight+sum.InFlight
	}
	return err
}

// addCharts draws what the runs of the last hour tell.
func (d *overviewData) addCharts(c *call) error {
	hour := axis{from: c.now.Truncate(time.Minute).Add(-59 * time.Minute), step: time.Minute, n: 60}
	stats, err := c.client.Stats(c.ctx, braid.StatsFilter{From: hour.from, To: c.now.Add(time.Millisecond)})
	if err != nil {
		return err
	}
	sums := hour.sum(stats)
	d.Runs, d.Failures, d.Counted = sums.runs, sums.failures, len(stats) > 0
	throughput := hour.bars("throughput", "Runs per minute", whole,
		series{"good", "completed", sums.good}, series{"other", "other", sums.other}, series{"bad", "failed", sums.bad})
	throughput.Summary = fmt.Sprintf("%s in the last hour, of which %d failed for good.", plural.Of(sums.runs, "run", "runs"), sums.failures)
	latency := hour.lines("latency", "Mean time per run", seconds,
		series{"run", "running", sums.runMean}, series{"wait", "waiting before it", sums.waitMean})
	latency.Summary = "The mean time that runs took, and that their jobs had waited, in each minute of the last hour."
	depth, err := depthChart(c, hour)
	d.Charts = []chart{depth, throughput, latency}
	return err
}

// depthChart draws how many jobs there were to run.
func depthChart(c *call, hour axis) (chart, error) {
	depths, err := c.client.Depths(c.ctx, hour.from, c.now.Add(time.Millisecond))
	if err != nil {
		return chart{}, err
	}
	waiting, active, delayed := hour.none(), hour.none(), hour.none()
	for _, d := range depths {
		if i, ok := hour.index(d.Time); ok {
			waiting[i], active[i], delayed[i] = float64(d.Counts.Waiting), float64(d.Counts.Active), float64(d.Counts.Delayed)
		}
	}
	drawn := hour.lines("depth", "Jobs to run", whole,
		series{"waiting", "waiting", waiting}, series{"active", "active", active}, series{"delayed", "delayed", delayed})
	drawn.Summary = "How many jobs were waiting, active and delayed in each minute of the last hour."
	return drawn, nil
}

// runSums are the runs of each step.
type runSums struct {
	good, bad, other  []float64
	runMean, waitMean []float64 // in seconds; NaN: no run
	runs, failures    int64
}

func (a axis) sum(stats []braid.Stat) runSums {
	s := runSums{good: make([]float64, a.n), bad: make([]float64, a.n), other: make([]float64, a.n),
		runMean: make([]float64, a.n), waitMean: make([]float64, a.n)}
	counts := make([]float64, a.n)
	for _, stat := range stats {
		i, ok := a.index(stat.Time)
		if !ok {
			continue
		}
		n := float64(stat.Count)
		switch stat.Outcome {
		case braid.OutcomeCompleted:
			s.good[i] += n
		case braid.OutcomeFailed:
			s.bad[i] += n
			s.failures += stat.Count
		default:
			s.other[i] += n
		}
		s.runs += stat.Count
		counts[i] += n
		s.runMean[i] += stat.RunTime.Seconds()
		s.waitMean[i] += stat.WaitTime.Seconds()
	}
	for i, n := range counts {
		if n == 0 {
			s.runMean[i], s.waitMean[i] = math.NaN(), math.NaN()
			continue
		}
		s.runMean[i] /= n
		s.waitMean[i] /= n
	}
	return s
}

func whole(v float64) string { return number(int64(v)) }

func seconds(v float64) string { return span(time.Duration(v * float64(time.Second))) }
