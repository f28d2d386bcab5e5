package drivertest

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/braidmq/braid/driver"
)

// listFixture fills a store with jobs of several queues, names, states, times and
// metadata, with ties, and returns their records.
func (t *T) listFixture() []*driver.Job {
	t.Helper()
	tag := metadata
	t.insert(100,
		request("w-2", tag("tenant", "1", "region", "eu")), request("w-1", tag("tenant", "2", "region", "eu")),
		request("w-3", named("other"), tag("tenant", "1")), request("w-4", inQueue("p"), tag("tenant", "1", "region", "us")))
	t.insert(200,
		request("d-1", after(900), tag("tenant", "1")), request("d-3", after(500)), request("d-2", after(900), named("other")),
		request("d-4", after(700), inQueue("p")))
	t.finished(300, request("c-1", named("done"), tag("tenant", "1", "region", "eu")), driver.Completed)
	t.finished(300, request("c-2", named("done"), inQueue("p")), driver.Completed)
	t.finished(400, request("f-1", named("done"), tag("tenant", "2")), driver.Failed)
	t.finished(250, request("f-2", named("other done")), driver.Failed)
	t.finished(400, request("x-1", named("done"), inQueue("p"), tag("tenant", "1")), driver.Cancelled)
	t.start(450, request("a-1", named("active"), tag("tenant", "1")))
	return t.jobs("w-1", "w-2", "w-3", "w-4", "d-1", "d-2", "d-3", "d-4", "c-1", "c-2", "f-1", "f-2", "x-1", "a-1")
}

// expected is what a list of all pages has to give: the ids of the matching jobs
// in order.
func expected(jobs []*driver.Job, r driver.ListRequest) []string {
	type entry struct {
		at driver.Time
		id string
	}
	var found []entry
	for _, j := range jobs {
		at := driver.Some(j.EnqueuedAt)
		switch r.OrderBy {
		case driver.ByRunAt:
			at = driver.Some(j.RunAt)
		case driver.ByFinishedAt:
			at = j.FinishedAt
		}
		ok := at.Set && (r.Queue == "" || r.Queue == j.Queue) && (r.Name == "" || r.Name == j.Name) &&
			(r.States == nil || slices.Contains(r.States, j.State))
		for k, v := range r.Metadata {
			got, has := j.Metadata[k]
			ok = ok && has && got == v
		}
		if ok {
			found = append(found, entry{at.Value, j.ID})
		}
	}
	slices.SortFunc(found, func(a, b entry) int {
		order := cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id))
		if !r.Ascending {
			order = -order
		}
		return order
	})
	ids := make([]string, len(found))
	for i, e := range found {
		ids[i] = e.id
	}
	return ids
}

// served reports whether the store serves a list. Where it need not and does not,
// the refusal is checked.
func (t *T) served(r driver.ListRequest) bool {
	t.Helper()
	if t.Harness.NameIndexOff && r.Name != "" || t.Harness.QueueIndexOff && r.Queue != "" {
		_, err := t.Store.List(t.ctx, r)
		return !errors.Is(err, driver.ErrListIndexDisabled)
	}
	if t.Harness.Lists == nil || mandatory(r) || t.Harness.Lists(r) {
		return true
	}
	_, err := t.Store.List(t.ctx, r)
	t.failsWith(fmt.Sprintf("List(%+v)", r), err, driver.ErrListOrderUnsupported)
	return false
}

// mandatory reports whether every store must serve a list.
func mandatory(r driver.ListRequest) bool {
	switch r.OrderBy {
	case driver.ByRunAt:
		return r.Queue != "" && reflect.DeepEqual(r.States, []driver.State{driver.Delayed})
	case driver.ByFinishedAt:
		return len(r.States) > 0 && !slices.ContainsFunc(r.States, func(s driver.State) bool { return !s.Terminal() })
	}
	return true
}

// lists holds a list, in both directions and in pages of every given size, to
// what the records say.
func (t *T) lists(jobs []*driver.Job, r driver.ListRequest, limits ...int) {
	t.Helper()
	if !t.served(r) {
		return
	}
	for _, ascending := range []bool{false, true} {
		r.Ascending = ascending
		want := expected(jobs, r)
		for _, limit := range limits {
			r.Limit = limit
			t.equal(fmt.Sprintf("List(%+v)", r), t.listAll(r), want)
		}
	}
}

// filters are the filters that the cases try in each order.
func filters() []driver.ListRequest {
	eu, one := map[string]string{"region": "eu"}, map[string]string{"tenant": "1"}
	both := map[string]string{"region": "eu", "tenant": "1"}
	finished := []driver.State{driver.Completed, driver.Failed, driver.Cancelled}
	return []driver.ListRequest{
		{}, {Queue: someQueue}, {Queue: "p"}, {Queue: "unknown"}, {Name: someName}, {Name: "done"}, {Name: "unknown"},
		{Queue: "p", Name: "done"}, {Queue: someQueue, Name: someName},
		{States: []driver.State{driver.Waiting}}, {States: []driver.State{driver.Delayed}}, {States: []driver.State{driver.Active}},
		{States: []driver.State{driver.WaitingChildren}}, {States: []driver.State{driver.Completed}},
		{States: finished}, {States: []driver.State{driver.Waiting, driver.Waiting, driver.Failed}}, {States: driver.States[:]},
		{Queue: someQueue, States: []driver.State{driver.Delayed}}, {Queue: "p", States: []driver.State{driver.Waiting, driver.Completed}},
		{Name: "done", States: []driver.State{driver.Failed}}, {Name: someName, States: finished},
		{Queue: "p", Name: "done", States: []driver.State{driver.Cancelled}},
		{Metadata: one}, {Metadata: eu}, {Metadata: both}, {Metadata: map[string]string{"tenant": "3"}},
		{Metadata: map[string]string{"Tenant": "1"}}, {Metadata: map[string]string{}},
		{Queue: someQueue, Metadata: one}, {Name: "done", Metadata: one}, {States: finished, Metadata: one},
		{Queue: "p", Name: someName, States: []driver.State{driver.Waiting}, Metadata: one},
	}
}

func init() {
	register("List/Filters",
		"Filters narrow each other, newest first by default and exactly mirrored when ascending, ties by the bytes of the id.",
		func(t *T) {
			jobs := t.listFixture()
			for _, r := range filters() {
				t.lists(jobs, r, 0)
			}
		})

	register("List/Pages",
		"Pages of any size, in either direction, lose nothing and repeat nothing.",
		func(t *T) {
			jobs := t.listFixture()
			for _, r := range []driver.ListRequest{
				{}, {Queue: someQueue}, {Name: "done"}, {States: []driver.State{driver.Waiting, driver.Delayed}},
				{Metadata: map[string]string{"tenant": "1"}},
			} {
				t.lists(jobs, r, 1, 2, 5)
			}
		})

	register("List/ByRunAt",
		"Delayed jobs of a queue are listed by RunAt, in pages, ties by the bytes of the id.",
		func(t *T) {
			jobs := t.listFixture()
			for _, r := range filters() {
				r.OrderBy = driver.ByRunAt
				t.lists(jobs, r, 0)
			}
			t.lists(jobs, driver.ListRequest{Queue: someQueue, States: []driver.State{driver.Delayed}, OrderBy: driver.ByRunAt}, 1, 2)
		})

	register("List/ByFinishedAt",
		"Finished jobs are listed by finishedAt, with and without name and queue; a job without that time is not listed.",
		func(t *T) {
			jobs := t.listFixture()
			for _, r := range filters() {
				r.OrderBy = driver.ByFinishedAt
				t.lists(jobs, r, 0)
			}
			finished := []driver.State{driver.Completed, driver.Failed, driver.Cancelled}
			for _, r := range []driver.ListRequest{
				{States: finished}, {States: finished[:1]}, {Name: "done", States: finished}, {Queue: "p", States: finished},
				{Queue: someQueue, Name: "done", States: finished},
			} {
				r.OrderBy = driver.ByFinishedAt
				t.lists(jobs, r, 1, 2)
			}
		})

	register("List/RecordsAreComplete",
		"A list gives the same records as Jobs, in every state.",
		func(t *T) {
			for _, state := range plainStates {
				t.bring(state.String(), state, named(state.String()), everythingBut(state))
			}
			got := t.list(driver.ListRequest{}).Jobs
			if len(got) != len(plainStates) {
				t.Errorf("the list has %d jobs; want %d", len(got), len(plainStates))
			}
			for _, j := range got {
				t.equal("listed "+j.ID, *j, *t.job(j.ID))
			}
		})

	register("List/FollowsTransitions",
		"A job is listed under the state that it is in, and no other.",
		func(t *T) {
			in := func(what string, want driver.State) {
				t.Helper()
				for _, state := range driver.States {
					found := t.listAll(driver.ListRequest{States: []driver.State{state}})
					if (len(found) == 1) != (state == want) {
						t.Errorf("after %s the jobs in %v are %q; want the job in %v only", what, state, found, want)
					}
				}
			}
			t.insert(0, request("a", after(100)))
			in("the enqueue", driver.Delayed)
			run := t.claimOne(100)
			in("the claim", driver.Active)
			t.settle(200, run.ack(driver.AckRelease), driver.Waiting)
			in("the release", driver.Waiting)
			t.fail(300, t.claimOne(300), `1`)
			in("the failure", driver.Failed)
			t.retry(400, "a")
			in("the retry", driver.Waiting)
			t.cancel(500, "a")
			in("the cancel", driver.Cancelled)
		})

	register("List/ExactMetadata",
		"Metadata filters match exact values only, the empty one too, and every pair must be there.",
		func(t *T) {
			t.insert(0, request("empty", metadata("k", "")), request("space", metadata("k", " ")), request("none"),
				request("upper", metadata("k", "A")), request("lower", metadata("k", "a")), request("other", metadata("l", "a")),
				request("odd", metadata(`a:b"\`, `%_*?[x]{}'`)))
			for _, c := range []struct {
				k, v string
				want []string
			}{
				{"k", "", []string{"empty"}}, {"k", " ", []string{"space"}}, {"k", "a", []string{"lower"}}, {"l", "a", []string{"other"}},
				{`a:b"\`, `%_*?[x]{}'`, []string{"odd"}}, {"k", "%", nil}, {"k", "*", nil},
			} {
				got := t.listAll(driver.ListRequest{Metadata: map[string]string{c.k: c.v}})
				t.equal(fmt.Sprintf("jobs with %q = %q", c.k, c.v), got, c.want)
			}
		})

	register("List/RareMetadata",
		"Filters that no index covers look at a bounded number of entries per call; the pages together find every match all the same.",
		func(t *T) {
			batch := []driver.EnqueueRequest{request("first", metadata("rare", "yes"))}
			for i := range driver.ListLookups + 50 {
				batch = append(batch, request(fmt.Sprintf("job-%d", i), metadata("rare", "no")))
			}
			t.insert(0, batch[0])
			t.insert(100, batch[1:]...)
			t.equal("found", t.listAll(driver.ListRequest{Metadata: map[string]string{"rare": "yes"}}), []string{"first"})
		})
}

// everythingBut sets every field of a request, and a delay where the state needs
// one; the job stays when it finishes.
func everythingBut(state driver.State) edit {
	return func(r *driver.EnqueueRequest) {
		name := r.Name
		everything(r)
		r.Name = name
		r.Metadata["state"] = state.String()
	}
}
