package drivertest

import "github.com/braidmq/braid/driver"

func init() {
	register("Tick/InsertsAndAdvances",
		"A tick whose expectation holds inserts the slot's job and advances NextRunAt.",
		func(t *T) {
			s := t.upsert(schedule("a"))
			t.equal("Tick", t.tick(1500, slot("a", 1000, 2000)), true)
			j := t.job("sched/a/1000")
			if j.State != driver.Waiting || j.EnqueuedAt != 1500 || j.RunAt != 1500 {
				t.Errorf("state %v, enqueuedAt %d, runAt %d; want waiting, 1500, 1500", j.State, j.EnqueuedAt, j.RunAt)
			}
			s.NextRunAt, s.LastJobID = 2000, j.ID
			t.equal("schedule", t.schedule("a"), s)
			t.equal("claimed", t.claimOne(1500).ID, j.ID)
		})

	register("Tick/StaleExpectation",
		"A tick with a stale expectation does nothing, so that a slot fires once for any number of callers.",
		func(t *T) {
			t.upsert(schedule("a"))
			t.equal("first", t.tick(1000, slot("a", 1000, 2000)), true)
			s := t.schedule("a")
			t.equal("second", t.tick(1000, slot("a", 1000, 3000)), false)
			t.equal("of a later slot", t.tick(1000, slot("a", 2001, 3000)), false)
			t.equal("schedule", t.schedule("a"), s)
			t.equal("counts", t.counts(""), driver.Counts{Waiting: 1})
		})

	register("Tick/OfAPrunedSlot",
		"A slot fires once also when its job has been pruned meanwhile.",
		func(t *T) {
			t.upsert(schedule("a"))
			tick := slot("a", 1000, 2000)
			tick.Job.Keep = &driver.Keep{Completed: driver.Retention{Count: driver.Some(int64(0))}}
			t.tick(1000, tick)
			t.complete(1000, t.claimOne(1000), `1`)
			t.equal("the same slot again", t.tick(1100, tick), false)
			t.equal("counts", t.counts(""), driver.Counts{})
		})

	register("Tick/SlotJobExistsAlready",
		"If the slot's job exists already, the tick advances, inserts nothing, and answers false.",
		func(t *T) {
			t.upsert(schedule("a"))
			t.insert(500, request("sched/a/1000", payload(`"mine"`)))
			before := t.snapshot("sched/a/1000")
			t.equal("Tick", t.tick(1000, slot("a", 1000, 2000)), false)
			want := schedule("a")
			want.NextRunAt = 2000
			t.equal("schedule", t.schedule("a"), want)
			t.unchanged(before)
		})

	for _, c := range []struct {
		name string
		rule string
		// prepare brings the previous slot's job into a state.
		prepare func(t *T, id string)
		overlap driver.Overlap
		ticks   bool
	}{
		{"SkipsWhileWaiting", "With overlap skip a tick whose previous job is not terminal advances, inserts nothing, and answers false.",
			func(t *T, id string) {}, driver.OverlapSkip, false},
		{"SkipsWhileActive", "With overlap skip a running job of the previous slot makes the tick skip.",
			func(t *T, id string) { t.claimOne(1000) }, driver.OverlapSkip, false},
		{"SkipsWhileDelayed", "With overlap skip a job of the previous slot that will be retried makes the tick skip.",
			func(t *T, id string) {
				ack := t.claimOne(1000).ack(driver.AckRetry)
				ack.Delay = 90_000
				t.settle(1000, ack, driver.Delayed)
			}, driver.OverlapSkip, false},
		{"GoesOnAfterCompletion", "With overlap skip a tick whose previous job has finished inserts.",
			func(t *T, id string) { t.complete(1000, t.claimOne(1000), `1`) }, driver.OverlapSkip, true},
		{"GoesOnAfterFailure", "With overlap skip a failed run, kept in history, does not stop the next slot.",
			func(t *T, id string) { t.fail(1000, t.claimOne(1000), `1`) }, driver.OverlapSkip, true},
		{"GoesOnAfterRemoval", "With overlap skip a previous job that is gone does not stop the next slot.",
			func(t *T, id string) { t.remove(1000, id) }, driver.OverlapSkip, true},
		{"AllowsOverlap", "With overlap allow a tick inserts whatever became of the previous slot's job.",
			func(t *T, id string) { t.claimOne(1000) }, driver.OverlapAllow, true},
	} {
		register("Tick/"+c.name, c.rule, func(t *T) {
			s := schedule("a")
			s.Overlap = c.overlap
			t.upsert(s)
			t.tick(1000, slot("a", 1000, 2000))
			c.prepare(t, "sched/a/1000")
			t.equal("Tick", t.tick(2000, slot("a", 2000, 3000)), c.ticks)
			want := t.schedule("a")
			want.NextRunAt, want.LastJobID = 3000, "sched/a/1000"
			if c.ticks {
				want.LastJobID = "sched/a/2000"
			}
			t.equal("schedule", t.schedule("a"), want)
			t.equal("whether the slot's job exists", t.jobs("sched/a/2000")[0] != nil, c.ticks)
		})
	}

	register("Tick/SkipLooksPastSkippedSlots",
		"A skipped slot does not hide the job that still runs: the slot after it is skipped too, and the first after its end fires.",
		func(t *T) {
			s := schedule("a")
			s.Overlap = driver.OverlapSkip
			t.upsert(s)
			t.tick(1000, slot("a", 1000, 2000))
			run := t.claimOne(1000)
			t.equal("second slot", t.tick(2000, slot("a", 2000, 3000)), false)
			t.equal("third slot", t.tick(3000, slot("a", 3000, 4000)), false)
			t.complete(3500, run, `1`)
			t.equal("fourth slot", t.tick(4000, slot("a", 4000, 5000)), true)
		})

	register("Tick/NeedsAnID",
		"A tick without a job id is an invalid request, checked first, and changes nothing.",
		func(t *T) {
			s := t.upsert(schedule("a"))
			for _, tick := range []driver.TickRequest{slot("a", 1000, 2000), slot("a", 1, 2000), slot("unknown", 1000, 2000)} {
				tick.Job.ID = ""
				ticked, err := t.Store.Tick(t.ctx, 1000, tick)
				t.invalid("Tick of "+tick.Key, err, "")
				t.equal("Tick", ticked, false)
			}
			t.equal("schedule", t.schedule("a"), s)
			t.equal("counts", t.counts(""), driver.Counts{})
		})

	register("Tick/AtTimeZero",
		"A slot at time 0 is a slot like any other.",
		func(t *T) {
			s := schedule("a")
			s.NextRunAt = 0
			t.upsert(s)
			t.equal("Tick", t.tick(0, slot("a", 0, 1000)), true)
			t.equal("NextRunAt", t.schedule("a").NextRunAt, driver.Time(1000))
		})

	register("Tick/ExactPayloads",
		"A schedule's and a tick's payload come back digit by digit.",
		func(t *T) {
			for _, json := range exactValues {
				s := schedule("a")
				s.Payload = []byte(json)
				t.equal("payload of the schedule", string(t.upsert(s).Payload), json)
				t.equal("payload of the stored schedule", string(t.schedule("a").Payload), json)
				tick := slot("a", t.schedule("a").NextRunAt, t.schedule("a").NextRunAt+1000)
				tick.Job.Payload = []byte(json)
				t.tick(1000, tick)
				t.equal("payload of the job", string(t.job(tick.Job.ID).Payload), json)
			}
		})
}
