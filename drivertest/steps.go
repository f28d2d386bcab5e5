package drivertest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/braidmq/braid/driver"
)

// The steps that cases are made of. Each fails the case if the store returns an
// error, unless it returns the error itself.

// enqueue sends one batch.
func (t *T) enqueue(now driver.Time, batch ...driver.EnqueueRequest) []driver.EnqueueResult {
	t.Helper()
	results, err := t.Store.Enqueue(t.ctx, now, batch)
	if err != nil {
		t.Fatalf("Enqueue of %d: %v", len(batch), err)
	}
	if len(results) != len(batch) {
		t.Fatalf("Enqueue answered %d results for %d requests", len(results), len(batch))
	}
	return results
}

// insert enqueues one batch of jobs that must be new, and returns their ids.
func (t *T) insert(now driver.Time, batch ...driver.EnqueueRequest) []string {
	t.Helper()
	ids := make([]string, len(batch))
	for i, r := range t.enqueue(now, batch...) {
		if r.Duplicate {
			t.Fatalf("request %d (id %q) is a duplicate of %q; want a new job", i, batch[i].ID, r.ID)
		}
		if batch[i].ID != "" && r.ID != batch[i].ID {
			t.Fatalf("request %d was inserted as %q; want %q", i, r.ID, batch[i].ID)
		}
		ids[i] = r.ID
	}
	return ids
}

// duplicate enqueues one request that must be answered with an existing job's id.
func (t *T) duplicate(now driver.Time, r driver.EnqueueRequest, id string) {
	t.Helper()
	t.equal("Enqueue", t.enqueue(now, r)[0], driver.EnqueueResult{ID: id, Duplicate: true})
}

// run is a claimed job with its lock.
type run struct {
	*driver.Job
	token string
}

// lock names the run's lock.
func (r run) lock() driver.Lock { return driver.Lock{ID: r.ID, Token: r.token} }

// ack returns an ack of the run.
func (r run) ack(kind driver.AckKind) driver.Ack {
	return driver.Ack{ID: r.ID, Token: r.token, Kind: kind}
}

// token draws a fresh lock token.
func (t *T) token() string {
	t.tokens++
	return fmt.Sprintf("token-%d", t.tokens)
}

// claimWith claims as req says; what it leaves empty is filled in.
func (t *T) claimWith(now driver.Time, req driver.ClaimRequest) driver.ClaimResult {
	t.Helper()
	if req.Queue == "" {
		req.Queue = someQueue
	}
	if req.Names == nil {
		req.Names = []string{someName}
	}
	if req.Worker == "" {
		req.Worker = "worker-1"
	}
	if req.Token == "" {
		req.Token = t.token()
	}
	if req.Limit == 0 {
		req.Limit = 1
	}
	if req.LockDuration == 0 {
		req.LockDuration = lockFor
	}
	result, err := t.Store.Claim(t.ctx, now, req)
	if err != nil {
		t.Fatalf("Claim: %v", err)
	}
	if len(result.Jobs) > req.Limit {
		t.Fatalf("Claim returned %d jobs; the limit was %d", len(result.Jobs), req.Limit)
	}
	return result
}

// claim claims up to limit plain jobs.
func (t *T) claim(now driver.Time, limit int) []run {
	t.Helper()
	token := t.token()
	result := t.claimWith(now, driver.ClaimRequest{Token: token, Limit: limit})
	runs := make([]run, len(result.Jobs))
	for i, j := range result.Jobs {
		runs[i] = run{j, token}
	}
	return runs
}

// claimOne claims the one plain job that must be there.
func (t *T) claimOne(now driver.Time) run {
	t.Helper()
	runs := t.claim(now, 1)
	if len(runs) != 1 {
		t.Fatalf("a claim at %d found no job; want one", now)
	}
	return runs[0]
}

// start enqueues a request and claims it.
func (t *T) start(now driver.Time, r driver.EnqueueRequest) run {
	t.Helper()
	id := t.insert(now, r)[0]
	token := t.token()
	jobs := t.claimWith(now, driver.ClaimRequest{Queue: r.Queue, Names: []string{r.Name}, Token: token}).Jobs
	if len(jobs) != 1 || jobs[0].ID != id {
		t.Fatalf("a claim after the enqueue of %q found %v", id, idsOf(jobs))
	}
	return run{jobs[0], token}
}

// ackAll sends one batch of acks.
func (t *T) ackAll(now driver.Time, batch ...driver.Ack) []driver.AckResult {
	t.Helper()
	results, err := t.Store.Ack(t.ctx, now, batch)
	if err != nil {
		t.Fatalf("Ack of %d: %v", len(batch), err)
	}
	if len(results) != len(batch) {
		t.Fatalf("Ack answered %d results for %d acks", len(results), len(batch))
	}
	return results
}

// settle acks one run, which must be accepted and leave the job in that state.
func (t *T) settle(now driver.Time, a driver.Ack, state driver.State) {
	t.Helper()
	r := t.ackAll(now, a)[0]
	if r.Err != nil || r.State != state {
		t.Fatalf("ack %v of %q: state %v, error %v; want %v", a.Kind, a.ID, r.State, r.Err, state)
	}
}

// complete finishes a run with an exit.
func (t *T) complete(now driver.Time, r run, exit string) {
	t.Helper()
	a := r.ack(driver.AckComplete)
	a.Exit = []byte(exit)
	t.settle(now, a, driver.Completed)
}

// fail finishes a run with an error.
func (t *T) fail(now driver.Time, r run, exit string) {
	t.Helper()
	a := r.ack(driver.AckFail)
	a.Exit = []byte(exit)
	t.settle(now, a, driver.Failed)
}

// finished enqueues a request, claims it and brings it to a terminal state, all at
// one time.
func (t *T) finished(now driver.Time, r driver.EnqueueRequest, state driver.State) string {
	t.Helper()
	switch state {
	case driver.Completed:
		run := t.start(now, r)
		t.complete(now, run, `"done"`)
		return run.ID
	case driver.Failed:
		run := t.start(now, r)
		t.fail(now, run, `"broken"`)
		return run.ID
	default:
		id := t.insert(now, r)[0]
		t.cancel(now, id)
		return id
	}
}

// job returns the record of a job, which must exist.
func (t *T) job(id string) *driver.Job {
	t.Helper()
	j := t.jobs(id)[0]
	if j == nil {
		t.Fatalf("job %q is unknown", id)
	}
	return j
}

// jobs returns records position by position; nil for unknown ones.
func (t *T) jobs(ids ...string) []*driver.Job {
	t.Helper()
	jobs, err := t.Store.Jobs(t.ctx, ids)
	if err != nil {
		t.Fatalf("Jobs(%q): %v", ids, err)
	}
	if len(jobs) != len(ids) {
		t.Fatalf("Jobs answered %d records for %d ids", len(jobs), len(ids))
	}
	return jobs
}

// present returns which of ids exist.
func (t *T) present(ids ...string) []string {
	t.Helper()
	var found []string
	for i, j := range t.jobs(ids...) {
		if j != nil {
			found = append(found, ids[i])
		}
	}
	return found
}

// inState fails unless a job is in that state.
func (t *T) inState(id string, want driver.State) {
	t.Helper()
	if got := t.job(id).State; got != want {
		t.Errorf("job %q is %v; want %v", id, got, want)
	}
}

// attempts returns a job's ledger.
func (t *T) attempts(id string) []driver.Attempt {
	t.Helper()
	ledger, err := t.Store.Attempts(t.ctx, id)
	if err != nil {
		t.Fatalf("Attempts(%q): %v", id, err)
	}
	return ledger
}

// counts returns the counts of one queue, or of all.
func (t *T) counts(queue string) driver.Counts {
	t.Helper()
	c, err := t.Store.Counts(t.ctx, queue)
	if err != nil {
		t.Fatalf("Counts(%q): %v", queue, err)
	}
	return c
}

// list returns one page.
func (t *T) list(req driver.ListRequest) driver.ListResult {
	t.Helper()
	page, err := t.Store.List(t.ctx, req)
	if err != nil {
		t.Fatalf("List(%+v): %v", req, err)
	}
	return page
}

// listAll returns the ids of every page, and fails if the pages do not end.
func (t *T) listAll(req driver.ListRequest) []string {
	t.Helper()
	var ids []string
	for range 1000 {
		page := t.list(req)
		ids = append(ids, idsOf(page.Jobs)...)
		if page.Cursor == "" {
			return ids
		}
		req.Cursor = page.Cursor
	}
	t.Fatalf("List(%+v) does not end", req)
	return nil
}

// cancel cancels one job, which must be accepted, and returns the state after it.
func (t *T) cancel(now driver.Time, id string) driver.State {
	t.Helper()
	return t.operated("Cancel", id, t.operate(t.Store.Cancel, now, id)[0])
}

// promote promotes one job, which must be accepted.
func (t *T) promote(now driver.Time, id string) driver.State {
	t.Helper()
	return t.operated("Promote", id, t.operate(t.Store.Promote, now, id)[0])
}

// retry retries one job, which must be accepted.
func (t *T) retry(now driver.Time, id string) driver.State {
	t.Helper()
	return t.operated("Retry", id, t.operate(t.Store.Retry, now, id)[0])
}

func (t *T) operated(op, id string, r driver.OperateResult) driver.State {
	t.Helper()
	if r.Err != nil {
		t.Fatalf("%s(%q): %v", op, id, r.Err)
	}
	return r.State
}

// remove removes jobs and returns whether each was deleted.
func (t *T) remove(now driver.Time, ids ...string) []bool {
	t.Helper()
	removed, err := t.Store.Remove(t.ctx, now, ids)
	if err != nil {
		t.Fatalf("Remove(%q): %v", ids, err)
	}
	if len(removed) != len(ids) {
		t.Fatalf("Remove answered %d results for %d ids", len(removed), len(ids))
	}
	return removed
}

// recover recovers stalled jobs, up to 100.
func (t *T) recover(now driver.Time, maxStalled int32) []driver.Recovered {
	t.Helper()
	result, err := t.Store.RecoverStalled(t.ctx, now, driver.RecoverRequest{MaxStalled: maxStalled, Limit: 100})
	if err != nil {
		t.Fatalf("RecoverStalled: %v", err)
	}
	if result.More {
		t.Errorf("RecoverStalled says that its limit of 100 ended the call; it returned %d jobs", len(result.Jobs))
	}
	return result.Jobs
}

// heartbeat extends locks by lockFor.
func (t *T) heartbeat(now driver.Time, locks ...driver.Lock) driver.HeartbeatResult {
	t.Helper()
	result, err := t.Store.Heartbeat(t.ctx, now, locks, lockFor)
	if err != nil {
		t.Fatalf("Heartbeat: %v", err)
	}
	result.Lost = slices.Sorted(slices.Values(result.Lost))
	result.CancelRequested = slices.Sorted(slices.Values(result.CancelRequested))
	return result
}

// pause pauses a queue; resume ends that.
func (t *T) pause(queue string) {
	t.Helper()
	t.must("Pause", t.Store.Pause(t.ctx, queue))
}

func (t *T) resume(queue string) {
	t.Helper()
	t.must("Resume", t.Store.Resume(t.ctx, queue))
}

// must fails the case on an error.
func (t *T) must(what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// invalid fails unless err is an InvalidError of that field.
func (t *T) invalid(what string, err error, field string) {
	t.Helper()
	var invalid *driver.InvalidError
	if !errors.As(err, &invalid) || !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("%s: error %v; want an InvalidError", what, err)
		return
	}
	if field != "" && invalid.Field != field {
		t.Errorf("%s: the error names the field %q; want %q", what, invalid.Field, field)
	}
}

// failsWith fails unless err is target.
func (t *T) failsWith(what string, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%s: error %v; want %v", what, err, target)
	}
}

// sameIDs compares two lists of ids, whatever their order.
func (t *T) sameIDs(what string, got, want []string) {
	t.Helper()
	t.equal(what, slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want)))
}

func idsOf(jobs []*driver.Job) []string {
	ids := make([]string, len(jobs))
	for i, j := range jobs {
		ids[i] = j.ID
	}
	return ids
}
