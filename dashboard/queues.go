package dashboard

import (
	"cmp"
	"slices"

	"github.com/braidmq/braid"
)

// queueRow is a queue with its numbers.
type queueRow struct {
	Name    string
	Paused  bool
	Counts  braid.Counts
	Workers int // that work on it
	share   share
}

// share is how much of the bar of a queue is what, of 100.
type share struct{ Active, Waiting, Delayed float64 }

// queuesData is what the page of the queues shows.
type queuesData struct {
	Queues []queueRow
	More   int
	Total  braid.Counts
}

// mostQueues bounds how many queues one page counts.
const mostQueues = 200

func queues(c *call) (*page, error) {
	rows, more, err := queueRows(c, mostQueues)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(rows, func(a, b queueRow) int { return cmp.Compare(a.Name, b.Name) })
	total, err := c.client.Counts(c.ctx, "")
	if err != nil {
		return nil, err
	}
	return &page{name: "queues", Title: "Queues", Tab: "queues", Data: queuesData{Queues: rows, More: more, Total: total}}, nil
}

// queueRows returns up to most queues, the busiest first, and how many others there
// are.
func queueRows(c *call, most int) (rows []queueRow, more int, err error) {
	names, err := c.client.Queues(c.ctx)
	if err != nil {
		return nil, 0, err
	}
	paused, err := c.client.PausedQueues(c.ctx)
	if err != nil {
		return nil, 0, err
	}
	workers, err := c.client.Workers(c.ctx)
	if err != nil {
		return nil, 0, err
	}
	counted := names[:min(len(names), mostQueues)]
	rows = make([]queueRow, len(counted))
	longest := int64(1)
	for i, name := range counted {
		rows[i] = queueRow{Name: name, Paused: slices.Contains(paused, name)}
		if rows[i].Counts, err = c.client.Counts(c.ctx, name); err != nil {
			return nil, 0, err
		}
		for _, w := range workers {
			if w.WorksOn(name) {
				rows[i].Workers++
			}
		}
		longest = max(longest, rows[i].open())
	}
	for i := range rows {
		rows[i].measure(longest)
	}
	slices.SortStableFunc(rows, func(a, b queueRow) int { return cmp.Compare(b.open(), a.open()) })
	rows = rows[:min(len(rows), most)]
	return rows, len(names) - len(rows), nil
}

// open is how many jobs of the queue have still to be run.
func (q *queueRow) open() int64 { return q.Counts.Waiting + q.Counts.Active + q.Counts.Delayed }

func (q *queueRow) measure(of int64) {
	part := func(n int64) float64 { return float64(n) / float64(of) * 100 }
	q.share = share{part(q.Counts.Active), part(q.Counts.Waiting), part(q.Counts.Delayed)}
}

// Bar places the parts of the bar beside each other.
func (q queueRow) Bar() []part {
	var parts []part
	x := 0.0
	for _, p := range []struct {
		class string
		width float64
	}{{"active", q.share.Active}, {"waiting", q.share.Waiting}, {"delayed", q.share.Delayed}} {
		if p.width > 0 {
			parts = append(parts, part{Class: p.class, X: coordinate(x), Width: coordinate(p.width)})
			x += p.width
		}
	}
	return parts
}
