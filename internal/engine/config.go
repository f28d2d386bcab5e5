package engine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/braidmq/braid/driver"
)

// Handler is how jobs of one name are run.
type Handler struct {
	// Run decodes the payload, calls the user's function and encodes the result. Its
	// error decides what becomes of the job: [Unrecoverable], [Snooze],
	// [*EncodeError] and [*FanOutDone] have their own meaning, everything else is a
	// failed attempt. It is called by many goroutines at once.
	Run func(ctx context.Context, run *Run) (exit []byte, err error)
	// Retryable says whether trying again can help; nil: always.
	Retryable func(error) bool
	// Timeout of a run whose job has none of its own. Absent: Config.Timeout; 0: none.
	Timeout driver.Opt[driver.Millis]
	// Backoff of jobs that have none of their own; nil: Config.Backoff.
	Backoff *driver.Backoff
}

// Queue is a queue that the engine works on.
type Queue struct {
	Name  string
	Slots int // how many of its jobs run at once; at least 1
}

// Config says what an engine does. Store is required; everything else has a
// useful zero value.
type Config struct {
	Store     driver.Store
	StoreName string // the name that workers know the store by; for logs and runs
	Clock     *Clock // nil: NewClock(Store)
	WorkerID  string // empty: made of host name, process id and a random part
	Queues    []Queue
	Handlers  map[string]Handler // by job name; other names are never claimed

	// LockDuration is how long a lock holds without a heartbeat, which comes every
	// half of it. 0: 30 s.
	LockDuration time.Duration
	// Grace is how long handlers may go on at shutdown before their contexts are
	// cancelled. 0: 25 s; negative: not at all.
	Grace time.Duration
	// StopMargin is how long after the grace period the shutdown ends, whatever
	// handlers and the store do: at most half of it goes by waiting for handlers whose
	// context was cancelled, the rest is for storing the last results. 0: 4 s, so that
	// all fits into the 30 s that orchestrators give.
	StopMargin time.Duration
	// StuckAfter is how long past the end of its context a handler counts as stuck. A
	// shutdown waits no longer for one. 0: 10 s.
	StuckAfter time.Duration
	// CallTimeout bounds each call to the store. 0: 10 s.
	CallTimeout time.Duration
	// PollInterval is how often a queue without work is looked at although nothing
	// woke it. 0: 5 s if the store pushes wake-ups, else 500 ms.
	PollInterval time.Duration
	// PresenceInterval is how often the worker tells the store that it is alive; it
	// counts as gone after three of them. 0: 10 s.
	PresenceInterval time.Duration
	Version          string // of the worker's program, for the list of workers; empty: unknown

	Timeout time.Duration   // of runs whose job and handler have none; 0: none
	Backoff *driver.Backoff // nil: exponential from 1 s, doubling, at most 1 h, jitter 0.2

	Logger   *slog.Logger // nil: slog.Default()
	Observer Observer     // nil: nobody
	// OnFailure is called after every failed attempt, in the handler's slot, with a
	// context that has BaseContext's values.
	OnFailure func(ctx context.Context, f Failure)
	// ChildEnded is called when the end of a flow's child is, or may be, stored, with the key of its
	// parent's store. It must be quick.
	ChildEnded func(parentStoreKey string)
	// BaseContext gives handlers' contexts their values; its end does not reach them.
	BaseContext context.Context
}

// Failure is a failed attempt.
type Failure struct {
	Job       *driver.Job
	Attempt   int    // 1-based, in the job's current budget
	Err       error  // what the handler returned; a [*PanicError] or [*TimeoutError] where it applies
	Exit      []byte // the [ErrorExit] that is stored, encoded
	WillRetry bool
	RetryIn   time.Duration // meaningful only if WillRetry
	Worker    string
	Store     string
}

// defaultBackoff is used where neither job, handler nor config has one.
var defaultBackoff = driver.Backoff{
	Kind: driver.BackoffExponential, Delay: 1000, Factor: 2, Max: 3_600_000, Jitter: 0.2,
}

// withDefaults checks the config and fills in what it leaves out.
func (c Config) withDefaults() (Config, error) {
	if c.Store == nil {
		return c, &driver.InvalidError{Field: "store", Reason: "is nil; open a store, such as memstore.New()"}
	}
	poll := 500 * time.Millisecond
	if _, pushes := c.Store.(driver.Waker); pushes {
		poll = 5 * time.Second
	}
	durations := []struct {
		field  string
		value  *time.Duration
		preset time.Duration
	}{
		{"lock duration", &c.LockDuration, 30 * time.Second},
		{"stop margin", &c.StopMargin, 4 * time.Second},
		{"stuck after", &c.StuckAfter, 10 * time.Second},
		{"call timeout", &c.CallTimeout, 10 * time.Second},
		{"poll interval", &c.PollInterval, poll},
		{"presence interval", &c.PresenceInterval, 10 * time.Second},
		{"timeout", &c.Timeout, 0},
	}
	for _, d := range durations {
		if *d.value < 0 {
			return c, &driver.InvalidError{Field: d.field, Value: d.value.String(), Reason: "is negative; leave it 0 for the default"}
		}
		if *d.value == 0 {
			*d.value = d.preset
		}
	}
	if c.LockDuration < 10*time.Millisecond {
		return c, &driver.InvalidError{Field: "lock duration", Value: c.LockDuration.String(),
			Reason: "is too short for a heartbeat; use 10ms or more, or 0 for 30s"}
	}
	if c.Grace == 0 {
		c.Grace = 25 * time.Second
	}
	c.Grace = max(c.Grace, 0)
	if err := c.checkQueues(); err != nil {
		return c, err
	}
	c.Handlers = maps.Clone(c.Handlers)
	for _, name := range slices.Sorted(maps.Keys(c.Handlers)) {
		if err := driver.CheckText("job name", name, driver.MaxNameBytes); err != nil {
			return c, err
		}
		if c.Handlers[name].Run == nil {
			return c, &driver.InvalidError{Field: "handler", Value: name, Reason: "has no function; register one for this job"}
		}
	}
	if c.WorkerID == "" {
		c.WorkerID = NewWorkerID()
	}
	if err := driver.CheckText("worker id", c.WorkerID, driver.MaxIDBytes); err != nil {
		return c, err
	}
	if c.Clock == nil {
		c.Clock = NewClock(c.Store)
	}
	if c.Backoff == nil {
		c.Backoff = &defaultBackoff
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.BaseContext == nil {
		c.BaseContext = context.Background()
	}
	c.BaseContext = context.WithoutCancel(c.BaseContext)
	return c, nil
}

func (c Config) checkQueues() error {
	seen := make(map[string]bool, len(c.Queues))
	for _, q := range c.Queues {
		if err := driver.CheckText("queue", q.Name, driver.MaxNameBytes); err != nil {
			return err
		}
		if seen[q.Name] {
			return &driver.InvalidError{Field: "queue", Value: q.Name, Reason: "is listed twice; give it all its slots in one entry"}
		}
		seen[q.Name] = true
		if q.Slots < 1 {
			return &driver.InvalidError{Field: "slots", Value: strconv.Itoa(q.Slots),
				Reason: fmt.Sprintf("of queue %q is less than 1; use how many of its jobs may run at once", q.Name)}
		}
	}
	return nil
}

// NewWorkerID makes a worker's id of host name, process id and a random part.
func NewWorkerID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "worker"
	}
	return cleanText(host, 64) + "-" + strconv.Itoa(os.Getpid()) + "-" + randomHex(4)
}

// randomHex returns n random bytes as hex digits.
func randomHex(n int) string {
	raw := make([]byte, n)
	_, _ = rand.Read(raw) // never fails
	return hex.EncodeToString(raw)
}
