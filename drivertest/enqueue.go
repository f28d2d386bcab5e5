package drivertest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/braidmq/braid/driver"
)

func init() {
	register("Enqueue/LandsAndIsClaimable",
		"An enqueued job is waiting, and a claim of its queue and name finds it.",
		func(t *T) {
			id := t.insert(1000, request("a"))[0]
			t.inState(id, driver.Waiting)
			if run := t.claimOne(1000); run.ID != id {
				t.Errorf("the claim found %q; want %q", run.ID, id)
			}
		})

	register("Enqueue/RecordHasEveryField",
		"The record of a job has everything that its request said, and RunAt and EnqueuedAt are now.",
		func(t *T) {
			r := request("a", everything)
			t.insert(1000, r)
			got := t.job("a")
			t.equal("record", *got, driver.Job{
				ID: "a", Spec: r.Spec, State: driver.Waiting, Seq: got.Seq, RunAt: 1000, EnqueuedAt: 1000,
			})
		})

	register("Enqueue/RecordOfAPlainJob",
		"What a request leaves out is absent in the record.",
		func(t *T) {
			r := request("a", payload(""))
			t.insert(1000, r)
			got := t.job("a")
			t.equal("record", *got, driver.Job{
				ID: "a", Spec: driver.Spec{Name: someName, Queue: someQueue, AttemptsMax: 3},
				State: driver.Waiting, Seq: got.Seq, RunAt: 1000, EnqueuedAt: 1000,
			})
			if len(got.Payload) != 0 || got.Backoff != nil || got.Keep != nil || got.Trace != nil || got.Parent != nil {
				t.Errorf("the record has fields that the request left out: %+v", *got)
			}
			t.equal("ledger", t.attempts("a"), []driver.Attempt(nil))
		})

	register("Enqueue/BatchSingleAndTickPersistAlike",
		"Batch, single and tick inserts persist every field alike, and a list gives the same record.",
		persistAlike)

	register("Enqueue/DelayHoldsAJobBack",
		"With a delay a job is delayed until now + delay, and a claim at that time promotes it.",
		func(t *T) {
			t.insert(1000, request("a", after(500)))
			before := t.snapshot("a")
			if before.Job.State != driver.Delayed || before.Job.RunAt != 1500 {
				t.Errorf("state %v, RunAt %d; want delayed, 1500", before.Job.State, before.Job.RunAt)
			}
			if runs := t.claim(1499, 1); len(runs) != 0 {
				t.Fatalf("a claim before RunAt found %q", runs[0].ID)
			}
			t.unchanged(before)
			t.claimOne(1500)
		})

	for _, state := range []driver.State{
		driver.Waiting, driver.Delayed, driver.Active, driver.Completed, driver.Failed, driver.Cancelled,
	} {
		register("Enqueue/ExistingIDIsNoOpWhen"+stateWord(state),
			"An explicit id that exists, in any state, is a no-op: its id, duplicate, nothing changed.",
			func(t *T) {
				t.bring("a", state)
				before := t.snapshot("a")
				t.duplicate(9000, request("a", everything, named("other"), inQueue("other"), after(5)), "a")
				t.unchanged(before)
				t.equal("counts of the other queue", t.counts("other"), driver.Counts{})
			})
	}

	register("Enqueue/ExistingIDTakesNoKey",
		"A request whose id exists takes no dedup key.",
		func(t *T) {
			t.insert(0, request("a"))
			t.duplicate(0, request("a", dedupe("k")), "a")
			t.insert(0, request("b", dedupe("k")))
		})

	register("Enqueue/ExistingIDComesBeforeDedupe",
		"The check for an existing id comes before the dedup rules, always.",
		func(t *T) {
			t.insert(0, request("a"), request("b", after(500), dedupe("k")))
			before := t.snapshot("b")
			t.duplicate(100, request("a", dedupe("k"), replacing), "a")
			t.unchanged(before)
		})

	register("Enqueue/AssignsIDs",
		"Without an id the store assigns j-<n> from its counter.",
		func(t *T) {
			ids := t.insert(0, request(""), request(""), request(""))
			ids = append(ids, t.insert(0, request(""))...)
			for i, id := range ids {
				if !regexp.MustCompile(`^j-[0-9]+$`).MatchString(id) || slices.Contains(ids[:i], id) {
					t.Errorf("assigned ids %q; want distinct ones such as j-1", ids)
				}
			}
		})

	register("Enqueue/AssignedIDsAvoidUsersIDs",
		"An assigned id never collides with a job that a user named.",
		func(t *T) {
			first := t.insert(0, request(""))[0]
			var n int
			if _, err := fmt.Sscanf(first, "j-%d", &n); err != nil {
				t.Fatalf("assigned id %q; want one such as j-1", first)
			}
			taken := []string{fmt.Sprintf("j-%d", n+1), fmt.Sprintf("j-%d", n+2)}
			t.insert(0, request(taken[0], payload("1")), request(taken[1], payload("2")))
			ids := t.insert(0, request("", payload("3")), request("", payload("4")))
			for _, id := range ids {
				if slices.Contains(taken, id) {
					t.Errorf("the store assigned %q, which a user's job has", id)
				}
			}
			t.equal("payload of the user's job", t.job(taken[0]).Payload, []byte("1"))
			t.equal("counts", t.counts(""), driver.Counts{Waiting: 5})
		})

	registerWith(drawing("a", "a", "a", "b", "c"), "Enqueue/GeneratorIsAskedAgain",
		"Where a drawn id exists already, another is drawn.",
		func(t *T) {
			ids := t.insert(0, request(""))
			ids = append(ids, t.insert(0, request(""))...)
			t.equal("assigned ids", ids, []string{"a", "b"})
		})

	registerWith(drawing("same"), "Enqueue/CollisionsAreBounded",
		"After a bounded number of collisions the enqueue fails, and nothing is stored.",
		func(t *T) {
			t.insert(0, request(""))
			before := t.snapshot("same")
			if results, err := t.Store.Enqueue(t.ctx, 1, []driver.EnqueueRequest{request("")}); err == nil {
				t.Errorf("Enqueue answered %+v although every drawn id exists; want an error", results)
			}
			t.unchanged(before)
			t.equal("counts", t.counts(""), driver.Counts{Waiting: 1})
		})

	register("Enqueue/EmptyBatch",
		"An empty batch is answered with nothing.",
		func(t *T) {
			t.enqueue(0)
			t.equal("counts", t.counts(""), driver.Counts{})
			t.equal("queues", t.queues(), []string(nil))
		})

	register("Enqueue/AnswersPositionByPosition",
		"A batch is answered position by position: new jobs, existing ids, dedup duplicates and repeats within it.",
		func(t *T) {
			t.insert(0, request("old"), request("keyed", dedupe("k")))
			got := t.enqueue(0,
				request("a"), request("old"), request("b"), request("c", dedupe("k")), request("a"), request("d"))
			t.equal("results", got, []driver.EnqueueResult{
				{ID: "a"}, {ID: "old", Duplicate: true}, {ID: "b"}, {ID: "keyed", Duplicate: true},
				{ID: "a", Duplicate: true}, {ID: "d"},
			})
			t.equal("jobs that exist", t.present("old", "keyed", "a", "b", "c", "d"), []string{"old", "keyed", "a", "b", "d"})
		})

	register("Enqueue/RepeatInABatchActsLikeTwoCalls",
		"Two items of one batch with one id act like two calls: the first is inserted, the second changes nothing.",
		func(t *T) {
			t.enqueue(0, request("a", payload("1")), request("a", payload("2"), dedupe("k")))
			t.equal("payload", t.job("a").Payload, []byte("1"))
			t.insert(0, request("b", dedupe("k")))
			t.equal("counts", t.counts(""), driver.Counts{Waiting: 2})
		})

	register("Enqueue/DedupeWithinABatchIsInOrder",
		"Dedup applies per item, in the batch's order.",
		func(t *T) {
			got := t.enqueue(100,
				request("a", dedupe("k"), after(500), payload("1")),
				request("b", dedupe("k"), payload("2")),
				request("c", dedupe("k"), replacing, after(900), payload("3")),
				request("d", dedupe("other")))
			t.equal("results", got, []driver.EnqueueResult{
				{ID: "a"}, {ID: "a", Duplicate: true}, {ID: "a", Duplicate: true}, {ID: "d"},
			})
			if j := t.job("a"); string(j.Payload) != "3" || j.RunAt != 1000 {
				t.Errorf("payload %s, RunAt %d; want 3, 1000", j.Payload, j.RunAt)
			}
		})

	register("Enqueue/LargeBatchKeepsItsOrder",
		"A batch larger than a chunk is inserted whole, in its order.",
		func(t *T) {
			var batch []driver.EnqueueRequest
			for i := range 2*driver.ChunkJobs + 10 {
				batch = append(batch, request(fmt.Sprintf("job-%d", i)))
			}
			ids := t.insert(0, batch...)
			t.equal("counts", t.counts(someQueue), driver.Counts{Waiting: int64(len(batch))})
			t.equal("ids in the order of claims", t.drain(0), ids)
		})

	register("Enqueue/BatchOfManyBytes",
		"A batch of more bytes than a chunk moves is inserted whole, and comes back exactly.",
		func(t *T) {
			text := `"` + strings.Repeat("x", 3<<20) + `"`
			t.insert(0, request("a", payload(text)), request("b", payload(text)), request("c", payload(text)))
			for _, j := range t.jobs("a", "b", "c") {
				if j == nil || string(j.Payload) != text {
					t.Errorf("a payload of %d bytes did not come back", len(text))
				}
			}
		})
}

// stateWord is a state as part of a case's name.
func stateWord(s driver.State) string {
	word := strings.ReplaceAll(s.String(), "-", "")
	return strings.ToUpper(word[:1]) + word[1:]
}

// drawing returns options with a generator that draws the ids in turn, and the
// last one for ever.
func drawing(ids ...string) func() StoreOptions {
	return func() StoreOptions {
		var drawn atomic.Int64
		return StoreOptions{IDGenerator: func() string {
			return ids[min(int(drawn.Add(1)), len(ids))-1]
		}}
	}
}

// bring enqueues a plain job at 0 and brings it to a state, at most 300 later.
func (t *T) bring(id string, state driver.State, edits ...edit) {
	t.Helper()
	r := request(id, edits...)
	switch state {
	case driver.Waiting:
		t.insert(0, r)
	case driver.Delayed:
		r.Delay = 5000
		t.insert(0, r)
	case driver.Active:
		t.start(100, r)
	default:
		t.finished(200, r, state)
	}
}

// drain claims plain jobs until there are no more, and returns their ids in order.
func (t *T) drain(now driver.Time) []string {
	t.Helper()
	var ids []string
	for range 1000 {
		page := t.claimWith(now, driver.ClaimRequest{Limit: 200})
		ids = append(ids, idsOf(page.Jobs)...)
		if next, due := page.NextRunAt.Get(); len(page.Jobs) == 0 && !(due && next <= now) {
			return ids
		}
	}
	t.Fatalf("claims at %d do not end", now)
	return nil
}

// persistAlike inserts one spec three ways and compares the records.
func persistAlike(t *T) {
	s := schedule("nightly")
	s.NextRunAt = 1000
	t.upsert(s)
	t.insert(1000, request("single", everything))
	t.insert(1000, request("batch-1", everything), request("batch-2", everything))
	tick := request("sched/nightly/1000", everything)
	if !t.tick(1000, driver.TickRequest{Key: "nightly", Expected: 1000, Next: 2000, Job: tick}) {
		t.Fatalf("the tick inserted nothing")
	}
	want := *t.job("single")
	for _, id := range []string{"batch-1", "batch-2", tick.ID} {
		got := *t.job(id)
		got.ID, got.Seq = want.ID, want.Seq
		t.equal(id, got, want)
	}
	for _, j := range t.list(driver.ListRequest{}).Jobs {
		t.equal("listed "+j.ID, *j, *t.job(j.ID))
	}
}
