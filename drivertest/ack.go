package drivertest

import (
	"fmt"
	"strings"

	"github.com/braidmq/braid/driver"
)

// kindWord is a kind of ack as part of a case's name.
func kindWord(k driver.AckKind) string {
	word := strings.ReplaceAll(k.String(), "-", "")
	return strings.ToUpper(word[:1]) + word[1:]
}

// plainKinds are the kinds of ack that jobs without a flow use.
var plainKinds = []driver.AckKind{
	driver.AckComplete, driver.AckFail, driver.AckCancelled, driver.AckRetry, driver.AckSnooze, driver.AckRelease,
}

func init() {
	for _, kind := range plainKinds {
		register("Ack/"+kindWord(kind)+"NeedsTheToken",
			"An ack is refused with ErrLockLost unless the job is active under its token, and ErrNotFound if there is no job; nothing changes.",
			func(t *T) {
				t.bring("waiting", driver.Waiting, inQueue("other"))
				t.bring("done", driver.Completed)
				run := t.start(0, request("a"))
				before := []snapshot{t.snapshot("waiting"), t.snapshot("done"), t.snapshot("a")}
				got := t.ackAll(100,
					driver.Ack{ID: "a", Token: "wrong", Kind: kind},
					driver.Ack{ID: "waiting", Token: run.token, Kind: kind},
					driver.Ack{ID: "done", Token: run.token, Kind: kind},
					driver.Ack{ID: "unknown", Token: run.token, Kind: kind},
					driver.Ack{ID: "a", Token: "", Kind: kind})
				for i, want := range []error{driver.ErrLockLost, driver.ErrLockLost, driver.ErrLockLost, driver.ErrNotFound, driver.ErrLockLost} {
					t.failsWith(fmt.Sprintf("ack %d", i), got[i].Err, want)
				}
				for _, s := range before {
					t.unchanged(s)
				}
			})
	}

	register("Ack/BadItemsDoNotHurtGoodOnes",
		"A batch of acks is answered position by position; a bad item never fails its neighbours.",
		func(t *T) {
			t.insert(0, request("a"), request("b"), request("c"), request("d"))
			runs := t.claim(0, 4)
			retry := runs[2].ack(driver.AckRetry)
			retry.Delay = 500
			got := t.ackAll(100,
				driver.Ack{ID: "unknown", Token: "t", Kind: driver.AckComplete},
				runs[0].ack(driver.AckComplete),
				driver.Ack{ID: "b", Token: "wrong", Kind: driver.AckFail},
				runs[1].ack(driver.AckFail), retry, runs[0].ack(driver.AckFail), runs[3].ack(driver.AckRelease))
			want := []driver.AckResult{
				{Err: driver.ErrNotFound}, {State: driver.Completed}, {Err: driver.ErrLockLost}, {State: driver.Failed},
				{State: driver.Delayed}, {Err: driver.ErrLockLost}, {State: driver.Waiting},
			}
			for i := range want {
				if want[i].Err != nil {
					t.failsWith(fmt.Sprintf("ack %d", i), got[i].Err, want[i].Err)
				} else {
					t.equal(fmt.Sprintf("ack %d", i), got[i], want[i])
				}
			}
			t.equal("counts", t.counts(""), driver.Counts{Completed: 1, Failed: 1, Delayed: 1, Waiting: 1})
		})

	register("Ack/TwoOfOneJobActLikeTwoCalls",
		"Two acks of one job in one batch act like two calls: the second has lost the lock.",
		func(t *T) {
			run := t.start(0, request("a"))
			got := t.ackAll(100, run.ack(driver.AckComplete), run.ack(driver.AckFail))
			t.equal("first", got[0], driver.AckResult{State: driver.Completed})
			t.failsWith("second", got[1].Err, driver.ErrLockLost)
			t.equal("ledger entries", len(t.attempts("a")), 1)
		})

	register("Ack/EmptyBatch", "An empty batch is answered with nothing.",
		func(t *T) { t.ackAll(0) })

	register("Ack/ManyAtOnce",
		"A batch larger than a chunk is settled whole, position by position.",
		func(t *T) {
			n := driver.ChunkJobs + 50
			var batch []driver.EnqueueRequest
			for i := range n {
				batch = append(batch, request(fmt.Sprintf("job-%d", i)))
			}
			t.insert(0, batch...)
			var acks []driver.Ack
			for len(acks) < n {
				runs := t.claim(0, 200)
				if len(runs) == 0 {
					t.Fatalf("claims found %d jobs of %d", len(acks), n)
				}
				for _, r := range runs {
					acks = append(acks, r.ack(driver.AckComplete))
				}
			}
			acks[7].Token = "wrong"
			for i, r := range t.ackAll(100, acks...) {
				if i == 7 {
					t.failsWith("ack 7", r.Err, driver.ErrLockLost)
				} else if r.Err != nil || r.State != driver.Completed {
					t.Errorf("ack %d: %+v", i, r)
				}
			}
			t.equal("counts", t.counts(""), driver.Counts{Active: 1, Completed: int64(n - 1)})
		})

	register("Ack/GoodAfterTheLockRanOut",
		"An ack is good also when its lock has run out, as long as nobody recovered the job.",
		func(t *T) {
			run := t.start(0, request("a"))
			t.complete(driver.Time(lockFor)+5000, run, `1`)
		})

	register("Ack/OldTokenIsDeadAfterANewClaim",
		"A run whose job was recovered and claimed again changes nothing any more.",
		func(t *T) {
			old := t.start(0, request("a"))
			t.recover(40_000, 5)
			run := t.claimOne(40_000)
			before := t.snapshot("a")
			for _, kind := range plainKinds {
				t.failsWith(kind.String(), t.ackAll(40_100, old.ack(kind))[0].Err, driver.ErrLockLost)
			}
			t.unchanged(before)
			t.complete(40_200, run, `1`)
		})

	register("Ack/TokenIsDeadAfterARelease",
		"After a release, a snooze or a retry the old token no longer acks, also while the job is claimed again.",
		func(t *T) {
			for _, kind := range []driver.AckKind{driver.AckRelease, driver.AckSnooze, driver.AckRetry} {
				old := t.start(0, request(kind.String()))
				t.settle(0, old.ack(kind), driver.Waiting)
				t.failsWith("ack of a waiting job", t.ackAll(0, old.ack(driver.AckComplete))[0].Err, driver.ErrLockLost)
				run := t.claimOne(0)
				t.failsWith("ack of a re-claimed job", t.ackAll(0, old.ack(driver.AckComplete))[0].Err, driver.ErrLockLost)
				t.complete(0, run, `1`)
			}
		})

	for _, kind := range []driver.AckKind{driver.AckRetry, driver.AckSnooze} {
		register("Ack/"+kindWord(kind)+"GoesBehind",
			"A job that comes back from a retry or a snooze stands behind those that wait.",
			func(t *T) {
				t.insert(0, request("a"), request("b"), request("c"))
				t.settle(0, t.claimOne(0).ack(kind), driver.Waiting)
				t.equal("claimed", t.drain(0), []string{"b", "c", "a"})
			})
	}

	register("Ack/ReleaseKeepsThePlace",
		"A released job goes back to its old place, in front of those behind it.",
		func(t *T) {
			t.insert(0, request("a"), request("b"), request("c"))
			t.claimOne(0)
			t.settle(0, t.claimOne(0).ack(driver.AckRelease), driver.Waiting)
			t.equal("claimed", t.drain(0), []string{"b", "c"})
		})

	register("Ack/LedgerKeepsEveryRun",
		"The ledger keeps every run with its times, worker and exit, oldest first, numbered without a gap.",
		func(t *T) {
			t.insert(0, request("a"))
			for i, exit := range []string{`"first"`, ``, `null`} {
				now := driver.Time(1000 * (i + 1))
				token := t.token()
				t.claimWith(now, driver.ClaimRequest{Token: token, Worker: fmt.Sprintf("w-%d", i)})
				t.settle(now+10, driver.Ack{ID: "a", Token: token, Kind: driver.AckRetry, Exit: []byte(exit)}, driver.Waiting)
			}
			token := t.token()
			t.claimWith(9000, driver.ClaimRequest{Token: token, Worker: "w-3"})
			t.settle(9010, driver.Ack{ID: "a", Token: token, Kind: driver.AckComplete, Exit: []byte(`"last"`)}, driver.Completed)
			at := driver.Some[driver.Time]
			t.equal("ledger", t.attempts("a"), []driver.Attempt{
				{Attempt: 1, StartedAt: at(1000), FinishedAt: 1010, Outcome: driver.OutcomeRetried, Exit: []byte(`"first"`), Worker: "w-0"},
				{Attempt: 2, StartedAt: at(2000), FinishedAt: 2010, Outcome: driver.OutcomeRetried, Worker: "w-1"},
				{Attempt: 3, StartedAt: at(3000), FinishedAt: 3010, Outcome: driver.OutcomeRetried, Exit: []byte(`null`), Worker: "w-2"},
				{Attempt: 4, StartedAt: at(9000), FinishedAt: 9010, Outcome: driver.OutcomeCompleted, Exit: []byte(`"last"`), Worker: "w-3"},
			})
		})

	register("Ack/LedgerNumbersGoOnAfterAnOperatorsRetry",
		"Attempt numbers grow by one per entry and are never reset, not by an operator's retry either.",
		func(t *T) {
			t.finished(0, request("a"), driver.Failed)
			t.retry(100, "a")
			t.fail(200, t.claimOne(200), `2`)
			t.retry(300, "a")
			t.cancel(400, "a")
			var numbers []int64
			for _, a := range t.attempts("a") {
				numbers = append(numbers, a.Attempt)
			}
			t.equal("attempt numbers", numbers, []int64{1, 2, 3})
		})

	register("Ack/BeyondTheLastAttempt",
		"The store does not judge attempts: a retry beyond attemptsMax goes back all the same, as the worker says.",
		func(t *T) {
			r := request("a")
			r.AttemptsMax = 1
			t.settle(0, t.start(0, r).ack(driver.AckRetry), driver.Waiting)
			t.settle(0, t.claimOne(0).ack(driver.AckRetry), driver.Waiting)
			t.equal("AttemptsMade", t.job("a").AttemptsMade, int32(2))
		})

	register("Ack/NoLedgerForUnknownJobs",
		"The ledger of an unknown job is empty.",
		func(t *T) { t.equal("ledger", t.attempts("unknown"), []driver.Attempt(nil)) })
}
