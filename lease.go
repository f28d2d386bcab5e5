package braid

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/engine"
)

// LeaseRequest asks for jobs to run outside of a [Worker], such as by a program in
// another language. Whoever leases renews the leases with [Client.ExtendLeases] while
// it works, and settles every job with [Client.SettleLeases].
type LeaseRequest struct {
	Queue  string   // empty: "default"
	Names  []string // of the jobs that the worker can run; at least one, at most 1,000
	Worker string   // names the worker in jobs and ledgers; 1 to 255 bytes
	Limit  int      // the most jobs to lease; 0: 1; at most 1,000
	// LockDuration is how soon another worker gets the jobs if this one does not renew
	// its leases. 0 is 30 s; 100 ms to 24 h.
	LockDuration time.Duration
	// Wait is how long to wait for a job when there is none. 0: not at all.
	Wait time.Duration
}

// LeasedJob is a job that was leased. Token proves the lease.
type LeasedJob struct {
	*JobInfo
	Token   string
	Attempt int // 1 for the first of the job's budget
}

// Lease claims jobs, and waits for one if there is none. No jobs and no error means
// that none came in time. When ctx ends, nothing stays leased. Parents of flows whose
// children have ended are left to workers that know their flow.
func (c *Client) Lease(ctx context.Context, req LeaseRequest) ([]LeasedJob, error) {
	if err := c.ready(); err != nil {
		return nil, err
	}
	if err := req.check(); err != nil {
		return nil, err
	}
	deadline := time.Now().Add(req.Wait)
	for {
		result, token, err := c.claim(ctx, req)
		if err != nil {
			return nil, err
		}
		jobs, err := c.leased(ctx, result.Jobs, token)
		c.shared.leasing.claimed(c, req, jobs)
		if err != nil || len(jobs) > 0 {
			return jobs, err
		}
		remaining := time.Until(deadline)
		if remaining <= 0 {
			return nil, ctx.Err()
		}
		if err := c.awaitLease(ctx, req.Queue, result, remaining); err != nil {
			return nil, err
		}
	}
}

const (
	mostLeased   = 1000
	mostNames    = 1000
	longestLock  = 24 * time.Hour
	leasePoll    = 500 * time.Millisecond // where the store cannot push
	leaseContend = 5 * time.Millisecond   // when others are at the same jobs
)

func (req *LeaseRequest) check() error {
	if req.Queue == "" {
		req.Queue = DefaultQueue
	}
	if req.Limit == 0 {
		req.Limit = 1
	}
	if req.LockDuration == 0 {
		req.LockDuration = defaultLock
	}
	refuse := func(field, value, reason string) error {
		return &driver.InvalidError{Field: field, Value: value, Reason: reason}
	}
	switch {
	case len(req.Names) == 0:
		return refuse("names", "", "is empty; name the jobs that the worker can run")
	case len(req.Names) > mostNames:
		return refuse("names", strconv.Itoa(len(req.Names)), "are too many; use at most "+strconv.Itoa(mostNames))
	case req.Limit < 0 || req.Limit > mostLeased:
		return refuse("limit", strconv.Itoa(req.Limit), "use 1 to "+strconv.Itoa(mostLeased))
	case req.Wait < 0:
		return refuse("wait", req.Wait.String(), "use a positive duration, or 0 for none")
	}
	for _, name := range req.Names {
		if err := driver.CheckText("names", name, driver.MaxNameBytes); err != nil {
			return err
		}
	}
	if err := checkLock(req.LockDuration); err != nil {
		return err
	}
	if err := driver.CheckText("queue", req.Queue, driver.MaxNameBytes); err != nil {
		return err
	}
	return driver.CheckText("worker", req.Worker, driver.MaxKeyBytes)
}

func checkLock(d time.Duration) error {
	if d < shortestLock || d > longestLock {
		return &driver.InvalidError{Field: "lock duration", Value: d.String(), Reason: "use 100ms to 24h, or 0 for 30s"}
	}
	return nil
}

// claim makes one claim, whose outcome is known when it returns without error: it is
// not broken off with ctx.
func (c *Client) claim(ctx context.Context, req LeaseRequest) (driver.ClaimResult, string, error) {
	claim := driver.ClaimRequest{
		Queue: req.Queue, Names: req.Names, Worker: req.Worker, Token: newID(),
		Limit: req.Limit, LockDuration: driver.MillisOf(req.LockDuration),
	}
	for attempt := 1; ; attempt++ {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		result, err := c.store.driver.Claim(bounded, c.now(), claim)
		cancel()
		if err == nil {
			if o := c.shared.metrics.observer(c.store.name); o != nil {
				o.Claimed(req.Queue, len(result.Jobs))
			}
			return result, claim.Token, nil
		}
		if !driver.Retryable(err) || !rest(ctx, attempt) {
			return result, "", err
		}
		claim.Resume = claim.Resume || driver.OutcomeUnknown(err)
	}
}

// leased hands out what was claimed, except for parents of flows, and everything when
// the caller has gone.
func (c *Client) leased(ctx context.Context, claimed []*driver.Job, token string) ([]LeasedJob, error) {
	jobs := make([]LeasedJob, 0, len(claimed))
	var back []driver.Ack
	gone := ctx.Err()
	for _, job := range claimed {
		switch {
		case gone != nil:
			back = append(back, driver.Ack{ID: job.ID, Token: token, Kind: driver.AckRelease})
		case job.Flow != nil:
			c.shared.logger.Error("braid: a flow's parent, whose children have ended, was leased by a worker without its flow; it is put off", "id", job.ID, "job", job.Name)
			back = append(back, driver.Ack{ID: job.ID, Token: token, Kind: driver.AckSnooze, Delay: driver.MillisOf(strayRest)})
		default:
			jobs = append(jobs, LeasedJob{JobInfo: newJobInfo(job), Token: token, Attempt: int(job.AttemptsMade) + 1})
		}
	}
	if len(back) > 0 {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		defer cancel()
		if _, err := c.store.driver.Ack(bounded, c.now(), back); err != nil { // the locks run out
			c.shared.logger.Warn("braid: leased jobs could not be given back", "jobs", len(back), "error", err)
		}
	}
	return jobs, gone
}

// awaitLease waits until another claim may find a job.
func (c *Client) awaitLease(ctx context.Context, queue string, result driver.ClaimResult, most time.Duration) error {
	waker, pushes := c.store.driver.(driver.Waker)
	if !pushes {
		most = min(most, leasePoll/2+rand.N(leasePoll))
	} else {
		most = min(most, safetyPoll)
	}
	if at, ok := result.NextRunAt.Get(); ok {
		most = min(most, max(at.Sub(c.now()).Std(), leaseContend))
		pushes = pushes && most > leaseContend
	}
	bounded, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if pushes {
		err := waker.AwaitWake(bounded, []string{queue}, result.Cursor)
		if err == nil || bounded.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, driver.ErrClosed) {
			return err
		}
	}
	select {
	case <-bounded.Done():
		return ctx.Err()
	case <-c.shared.closed:
		return ErrClientClosed
	}
}

// Lock is a lease: the id of a job, and the token under which it was leased.
type Lock = driver.Lock

// LeaseState tells what has become of leases.
type LeaseState struct {
	Lost            []string // ids of jobs that are this worker's no more: stop running them
	CancelRequested []string // ids of jobs that shall end; they are extended all the same
}

// ExtendLeases renews leases for d from now; 0 is 30 s. Call it well before they run
// out, such as at half their length.
func (c *Client) ExtendLeases(ctx context.Context, locks []Lock, d time.Duration) (LeaseState, error) {
	if d == 0 {
		d = defaultLock
	}
	if err := checkLock(d); err != nil {
		return LeaseState{}, err
	}
	ctx, cancel, err := c.begin(ctx)
	if err != nil {
		return LeaseState{}, err
	}
	defer cancel()
	if len(locks) == 0 {
		return LeaseState{}, nil
	}
	possible, lost := possibleLocks(locks)
	result, err := c.store.driver.Heartbeat(ctx, c.now(), possible, driver.MillisOf(d))
	if err != nil {
		return LeaseState{}, within(err, "extend leases")
	}
	result.Lost = append(result.Lost, lost...)
	if o := c.shared.metrics.observer(c.store.name); o != nil && len(result.Lost) > 0 {
		o.LocksLost(len(result.Lost))
	}
	c.shared.leasing.extended(c, locks, result.Lost, d)
	return LeaseState{Lost: result.Lost, CancelRequested: result.CancelRequested}, nil
}

// possibleLocks returns the locks that there can be, and the ids of the others.
func possibleLocks(locks []Lock) (possible []Lock, others []string) {
	for _, lock := range locks {
		if canBeID(lock.ID) && canBeToken(lock.Token) {
			possible = append(possible, lock)
		} else {
			others = append(others, lock.ID)
		}
	}
	return possible, others
}

// defaultBackoff is for jobs whose definition, and whose worker, say nothing.
func defaultBackoff() BackoffPolicy { return Exponential(time.Second).Cap(time.Hour).Jitter(0.2) }

// backoffDelay is the rest before the attempt that follows one that failed.
func backoffDelay(job *driver.Job) driver.Millis {
	backoff := defaultBackoff().policy
	if job.Backoff != nil {
		backoff = *job.Backoff
	}
	return engine.RetryDelay(backoff, int(job.AttemptsMade)+1)
}
