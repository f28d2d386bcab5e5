package drivertest

import "github.com/braidmq/braid/driver"

func hasTx(h Harness) bool { return h.BeginTx != nil }

// inTx begins a transaction and returns the store's power to enqueue in it.
func (t *T) inTx() (driver.TxProducer, Transaction) {
	t.Helper()
	p, ok := t.Store.(driver.TxProducer)
	if !ok {
		t.Fatalf("the store is no driver.TxProducer, though the harness has BeginTx")
	}
	return p, t.Harness.BeginTx(t, t.Store)
}

func init() {
	registerIf(hasTx, "Tx/Commit",
		"Jobs that are enqueued in the caller's transaction exist with its commit, every field alike, and wake their queue then.",
		func(t *T) {
			t.insert(0, request("plain", everything))
			cursor := t.wakeCursorIfAny()
			p, tx := t.inTx()
			results, err := p.EnqueueTx(t.ctx, tx.Tx, 0, []driver.EnqueueRequest{request("a", everything), request("b", dedupe("k"))})
			t.must("EnqueueTx", err)
			t.equal("results", results, []driver.EnqueueResult{{ID: "a"}, {ID: "b"}})
			t.must("Commit", tx.Commit())
			if !t.Harness.NoWaker {
				t.isWoken("after the commit", t.awaits(t.ctx, cursor, someQueue))
			}
			want := *t.job("plain")
			got := *t.job("a")
			got.ID, got.Seq = want.ID, want.Seq
			t.equal("record", got, want)
			t.duplicate(0, request("c", dedupe("k")), "b")
			t.equal("counts", t.counts(""), driver.Counts{Waiting: 3})
		})

	registerIf(hasTx, "Tx/Rollback",
		"With the rollback of the caller's transaction nothing has happened, to keys and replaced jobs either.",
		func(t *T) {
			t.insert(0, request("old", dedupe("old"), after(9000)))
			before := t.snapshot("old")
			p, tx := t.inTx()
			_, err := p.EnqueueTx(t.ctx, tx.Tx, 0, []driver.EnqueueRequest{
				request("a", dedupe("k")), request("b", dedupe("old"), replacing, payload(`2`))})
			t.must("EnqueueTx", err)
			t.must("Rollback", tx.Rollback())
			t.unchanged(before)
			t.equal("jobs that exist", t.present("a", "b", "old"), []string{"old"})
			t.equal("counts", t.counts(""), driver.Counts{Delayed: 1})
			t.insert(0, request("c", dedupe("k")))
		})

	registerIf(hasTx, "Tx/InvisibleUntilCommit",
		"Before the commit nobody sees or claims the jobs.",
		func(t *T) {
			p, tx := t.inTx()
			_, err := p.EnqueueTx(t.ctx, tx.Tx, 0, []driver.EnqueueRequest{request("a")})
			t.must("EnqueueTx", err)
			t.equal("jobs that exist", t.present("a"), []string(nil))
			t.equal("counts", t.counts(""), driver.Counts{})
			t.must("Commit", tx.Commit())
			t.claimOne(0)
		})

	registerIf(hasTx, "Tx/KeepsTheRules",
		"In a transaction the rules of an enqueue hold: positional answers, existing ids, repeats and dedup.",
		func(t *T) {
			t.insert(0, request("old"), request("keyed", dedupe("k")))
			p, tx := t.inTx()
			got, err := p.EnqueueTx(t.ctx, tx.Tx, 0, []driver.EnqueueRequest{
				request("a"), request("old"), request("c", dedupe("k")), request("a")})
			t.must("EnqueueTx", err)
			t.equal("results", got, []driver.EnqueueResult{
				{ID: "a"}, {ID: "old", Duplicate: true}, {ID: "keyed", Duplicate: true}, {ID: "a", Duplicate: true}})
			t.must("Commit", tx.Commit())
			t.equal("claimed", t.drain(0), []string{"old", "keyed", "a"})
		})

	registerIf(hasTx, "Tx/OfAnotherKind",
		"A transaction that is not this store's is an invalid request.",
		func(t *T) {
			p, tx := t.inTx()
			t.must("Rollback", tx.Rollback())
			_, err := p.EnqueueTx(t.ctx, driver.Tx{Handle: "no transaction"}, 0, []driver.EnqueueRequest{request("a")})
			t.invalid("EnqueueTx", err, "")
			t.equal("counts", t.counts(""), driver.Counts{})
		})
}

// wakeCursorIfAny returns a wake cursor where the store can wake.
func (t *T) wakeCursorIfAny() driver.WakeCursor {
	t.Helper()
	if t.Harness.NoWaker {
		return 0
	}
	return t.wakeCursor(someQueue)
}
