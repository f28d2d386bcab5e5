package driver

// Spec is what a producer says about a job: everything that the job's record
// keeps unchanged while the job lives (a dedup replace rewrites it). Enqueue,
// Tick and a flow's children persist it alike.
type Spec struct {
	Name     string
	Queue    string
	Payload  []byte            // encoded JSON; empty: absent
	Metadata map[string]string // searchable by List; nil and empty are the same
	Priority int32             // higher runs first; default 0
	// AttemptsMax is how often the job may run until it fails for good; at least 1.
	AttemptsMax int32
	Backoff     *Backoff    // nil: the worker's default
	Keep        *Keep       // nil: kept until the store's history ceiling
	Timeout     Opt[Millis] // of one run; absent: the worker's default; 0: none
	Trace       *Trace      // nil: the producer was not traced
	Parent      *Envelope   // non-nil: the job is a child of a flow
}

// BackoffKind says how the delay between attempts grows.
type BackoffKind uint8

// The kinds of backoff.
const (
	BackoffFixed       BackoffKind = iota + 1 // always Delay
	BackoffExponential                        // Delay × Factor^(attempt−1)
)

// Backoff is the delay before a failed job's next attempt. A store keeps it; the
// worker computes with it.
type Backoff struct {
	Kind   BackoffKind
	Delay  Millis
	Factor float64 // exponential only; 0 means 2
	Max    Millis  // the longest delay; 0 means no cap
	Jitter float64 // 0 to 1: a delay d becomes a random one in [d×(1−Jitter), d]
}

// Keep says which finished jobs stay, per terminal state.
type Keep struct {
	Completed Retention
	Failed    Retention
	Cancelled Retention
}

// For returns the retention for a terminal state; for any other it is empty.
func (k *Keep) For(s State) Retention {
	if k == nil {
		return Retention{}
	}
	switch s {
	case Completed:
		return k.Completed
	case Failed:
		return k.Failed
	case Cancelled:
		return k.Cancelled
	}
	return Retention{}
}

// Retention bounds the finished jobs of one name and state. Both bounds apply.
type Retention struct {
	Count Opt[int64]  // the newest Count stay; 0: none does
	Age   Opt[Millis] // those younger than Age stay
}

// Trace is the span context of the producer.
type Trace struct {
	TraceID string // 32 hex digits
	SpanID  string // 16 hex digits
	Sampled bool
	Delayed bool // the job was delayed on purpose, so its run starts a new trace
}

// Envelope ties a child job to its flow. Whatever ends the job, its outcome goes
// into the outbox of the child's store in the same step.
type Envelope struct {
	FlowName       string
	FlowID         string // the parent's job id
	Run            string // the token of the parent's run that fanned out
	ChildKey       string
	ParentStoreKey string // the name of the parent's store, as the workers know it
	Depth          int32  // 1: child of a top-level parent
}

// Manifest is the state of a flow, on its parent. Its presence marks the second
// phase: a claimed parent with a manifest collects, one without fans out. The
// four counters always sum to the number of children.
type Manifest struct {
	FailFast  bool
	Pending   int64
	Completed int64
	Failed    int64
	Cancelled int64
}

// Total returns the number of children.
func (m Manifest) Total() int64 { return m.Pending + m.Completed + m.Failed + m.Cancelled }

// Job is the record of a job, as every operation that returns jobs returns it.
type Job struct {
	ID string
	Spec
	State State
	// Seq orders waiting jobs of one priority. It grows with every enqueue, retry
	// and snooze; its value means nothing else, and stores may skip values.
	Seq             int64
	AttemptsMade    int32 // in the current budget
	StalledCount    int32
	CancelRequested bool      // only while active
	DedupeKey       string    // empty: none
	DedupeTTL       bool      // whether the key was taken with a ttl
	Flow            *Manifest // nil: no flow, or not fanned out yet
	RunAt           Time
	EnqueuedAt      Time
	ProcessedAt     Opt[Time] // of the latest claim
	FinishedAt      Opt[Time]
	Exit            []byte // encoded result or error; empty: absent
	FailedReason    string // set when the store itself failed the job
	LockedBy        string // the worker's id; only while active
	LockExpiresAt   Opt[Time]
}

// Attempt is one entry of a job's run ledger.
type Attempt struct {
	Attempt    int64 // 1-based, grows by one per entry, never reset
	StartedAt  Opt[Time]
	FinishedAt Time
	Outcome    Outcome
	Exit       []byte // empty: absent
	Worker     string // empty: absent, the job was not running
}
