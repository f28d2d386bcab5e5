package maintain

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/braidmq/braid/driver"
)

// The names of the built-in loops, as Pulse takes them and Health returns them.
const (
	LoopStalls    = "stalls"    // recovers jobs whose lock has run out
	LoopSchedules = "schedules" // fires schedules that are due
	LoopHistory   = "history"   // deletes finished jobs that have had their time
	LoopDedupe    = "dedupe"    // deletes expired dedup entries
	LoopStats     = "stats"     // samples how many jobs there are; deletes stats that are a day old
	LoopFlows     = "flows"     // deletes dependency rows that no flow can see, settles early ones
)

// Intervals are how often the built-in loops run. Zero fields take the default.
type Intervals struct {
	Stalls time.Duration // default 30 s
	// Schedules bounds how late a slot fires. Default 750 ms: within the second, with
	// room for the calls.
	Schedules time.Duration
	History   time.Duration // default 1 min
	Dedupe    time.Duration // default 1 min
	Stats     time.Duration // default 1 min
	Flows     time.Duration // default 30 s
}

// Observer is told what the loops did, from their goroutines, several of which may
// call at once. Numbers are never all 0.
type Observer interface {
	// StallsRecovered: so many jobs went back to waiting, and so many had stalled too
	// often.
	StallsRecovered(recovered, failed int)
	// Ticks: so many jobs were enqueued by schedules.
	Ticks(n int)
	// ScheduleFailed: a due schedule could not fire. It is told when that begins, and
	// every ten minutes while it lasts.
	ScheduleFailed(key string, err error)
	// SweptHistory, SweptDedupe and SweptFlows: so much was deleted.
	SweptHistory(n int)
	SweptDedupe(n int)
	SweptFlows(n int)
	// LoopFailed: a run of a loop ended with an error.
	LoopFailed(loop string, err error)
}

// Config says what to maintain. Store and Now are required.
type Config struct {
	Store     driver.Store
	StoreName string             // for the log
	Now       func() driver.Time // the store's time
	Logger    *slog.Logger       // nil: slog.Default
	// MaxStalled is how often a job may lose its worker and run again; one more time
	// fails it. 0: the first time does. There is no default.
	MaxStalled int32
	Intervals  Intervals
	// CallTimeout bounds every single call of the store. 0: 10 s.
	CallTimeout time.Duration
	Observer    Observer // nil: nobody
	// OnRecovered is told which jobs were found stalled, on the loop's goroutine. It
	// may be nil.
	OnRecovered func([]driver.Recovered)
	// Loops run beside the built-in ones, under the same rules. Their names differ
	// from those and each other.
	Loops []Loop
}

// Maintainer runs the upkeep of one store. Use New.
type Maintainer struct {
	*Runner
	cfg      Config
	pageSize int // of every page that a sweep asks for
}

// New returns a maintainer. It does nothing before Run.
func New(cfg Config) *Maintainer {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	cfg.Logger = cfg.Logger.With(slog.String("store", cfg.StoreName))
	if cfg.Observer == nil {
		cfg.Observer = nobody{}
	}
	if cfg.CallTimeout <= 0 {
		cfg.CallTimeout = 10 * time.Second
	}
	every := &cfg.Intervals
	setDefault(&every.Stalls, 30*time.Second)
	setDefault(&every.Schedules, 750*time.Millisecond)
	setDefault(&every.History, time.Minute)
	setDefault(&every.Dedupe, time.Minute)
	setDefault(&every.Stats, time.Minute)
	setDefault(&every.Flows, 30*time.Second)

	m := &Maintainer{cfg: cfg, pageSize: driver.ChunkJobs}
	schedules := &scheduleSweep{m: m}
	loops := []Loop{
		{Name: LoopStalls, Interval: every.Stalls, Run: m.paged(every.Stalls, m.recoverStalled)},
		{Name: LoopSchedules, Interval: every.Schedules, Run: schedules.run},
		{Name: LoopHistory, Interval: every.History,
			Run: m.paged(every.History, m.sweep(cfg.Store.SweepHistory, cfg.Observer.SweptHistory))},
		{Name: LoopDedupe, Interval: every.Dedupe,
			Run: m.paged(every.Dedupe, m.sweep(cfg.Store.SweepDedupe, cfg.Observer.SweptDedupe))},
		{Name: LoopStats, Interval: every.Stats,
			Run: m.stats(m.paged(every.Stats, m.sweep(cfg.Store.SweepStats, func(int) {})))},
		{Name: LoopFlows, Interval: every.Flows,
			Run: m.paged(every.Flows, m.sweep(cfg.Store.SweepFlows, cfg.Observer.SweptFlows))},
	}
	m.Runner = NewRunner(append(loops, cfg.Loops...), cfg.Logger, cfg.Observer.LoopFailed)
	return m
}

func setDefault(d *time.Duration, def time.Duration) {
	if *d <= 0 {
		*d = def
	}
}

// call makes one call of the store under the time limit.
func (m *Maintainer) call(ctx context.Context, f func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, m.cfg.CallTimeout)
	defer cancel()
	err := f(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("braid: the store did not answer within %v: %w", m.cfg.CallTimeout, err)
	}
	return err
}

// nobody is the observer that looks away.
type nobody struct{}

func (nobody) StallsRecovered(int, int)     {}
func (nobody) Ticks(int)                    {}
func (nobody) ScheduleFailed(string, error) {}
func (nobody) SweptHistory(int)             {}
func (nobody) SweptDedupe(int)              {}
func (nobody) SweptFlows(int)               {}
func (nobody) LoopFailed(string, error)     {}
