package drivertest

import "github.com/braidmq/braid/driver"

// transition is one row of the transition table: from an active job to what an
// operation makes of it.
type transition struct {
	name string
	rule string
	// flagged: a cancel was requested while the job ran.
	flagged bool
	do      func(t *T, r run)
	want    func(s *snapshot)
}

// The times of the table's rows: claimed at, and what happens to the run.
const (
	claimedAt = driver.Time(1000)
	endedAt   = driver.Time(2000)
)

// ackWith acks with a kind, an exit and a delay.
func ackWith(kind driver.AckKind, exit string, delay driver.Millis, state driver.State) func(t *T, r run) {
	return func(t *T, r run) {
		t.Helper()
		a := r.ack(kind)
		a.Exit, a.Delay = []byte(exit), delay
		t.settle(endedAt, a, state)
	}
}

// ranUntil is the ledger entry of a run of the table.
func ranUntil(outcome driver.Outcome, exit string) driver.Attempt {
	return driver.Attempt{
		StartedAt: driver.Some(claimedAt), FinishedAt: endedAt, Outcome: outcome, Exit: []byte(exit), Worker: "worker-1",
	}
}

// ends describes a run that finished its job.
func ends(state driver.State, attempts int32, outcome driver.Outcome, exit string) func(s *snapshot) {
	return func(s *snapshot) {
		s.ended(endedAt, state)
		s.Job.AttemptsMade += attempts
		s.Job.Exit = []byte(exit)
		s.entry(ranUntil(outcome, exit))
	}
}

// cancelWins describes a run whose pending cancel was honoured.
func cancelWins(attempts int32) func(s *snapshot) {
	return ends(driver.Cancelled, attempts, driver.OutcomeCancelled, "")
}

var transitions = []transition{
	{name: "Complete", rule: "Complete finishes the job with its exit, and uses an attempt.",
		do:   ackWith(driver.AckComplete, `{"ok":true}`, 0, driver.Completed),
		want: ends(driver.Completed, 1, driver.OutcomeCompleted, `{"ok":true}`)},
	{name: "CompleteWithoutExit", rule: "The exit may be absent in any outcome.",
		do:   ackWith(driver.AckComplete, ``, 0, driver.Completed),
		want: ends(driver.Completed, 1, driver.OutcomeCompleted, ``)},
	{name: "CompleteBeatsCancel", rule: "Complete wins over a pending cancel request.", flagged: true,
		do:   ackWith(driver.AckComplete, `1`, 0, driver.Completed),
		want: ends(driver.Completed, 1, driver.OutcomeCompleted, `1`)},
	{name: "Fail", rule: "Fail finishes the job with its exit, uses an attempt, and sets no failedReason.",
		do:   ackWith(driver.AckFail, `{"message":"broken"}`, 0, driver.Failed),
		want: ends(driver.Failed, 1, driver.OutcomeFailed, `{"message":"broken"}`)},
	{name: "FailWithoutExit", rule: "The exit may be absent in any outcome.",
		do:   ackWith(driver.AckFail, ``, 0, driver.Failed),
		want: ends(driver.Failed, 1, driver.OutcomeFailed, ``)},
	{name: "FailBeatsCancel", rule: "Fail wins over a pending cancel request.", flagged: true,
		do:   ackWith(driver.AckFail, `1`, 0, driver.Failed),
		want: ends(driver.Failed, 1, driver.OutcomeFailed, `1`)},
	{name: "Cancelled", rule: "Cancelled finishes the job without exit, uses an attempt, and leaves one entry.", flagged: true,
		do: ackWith(driver.AckCancelled, ``, 0, driver.Cancelled), want: cancelWins(1)},
	{name: "CancelledUnasked", rule: "Cancelled finishes the job also if no cancel was requested.",
		do: ackWith(driver.AckCancelled, ``, 0, driver.Cancelled), want: cancelWins(1)},
	{name: "CancelledHasNoExit", rule: "A Cancelled ack leaves no exit, whatever it carries.", flagged: true,
		do: ackWith(driver.AckCancelled, `"ignored"`, 0, driver.Cancelled), want: cancelWins(1)},
	{name: "RetryLosesToCancel", rule: "A retry with a pending cancel uses the attempt, and the job is cancelled without exit, with one ledger entry.", flagged: true,
		do: ackWith(driver.AckRetry, `"broken"`, 500, driver.Cancelled), want: cancelWins(1)},
	{name: "SnoozeLosesToCancel", rule: "A snooze with a pending cancel cancels the job, without using an attempt.", flagged: true,
		do: ackWith(driver.AckSnooze, ``, 500, driver.Cancelled), want: cancelWins(0)},
	{name: "ReleaseLosesToCancel", rule: "A release with a pending cancel cancels the job, without using an attempt.", flagged: true,
		do: ackWith(driver.AckRelease, ``, 0, driver.Cancelled), want: cancelWins(0)},
	{name: "StallLosesToCancel", rule: "A stalled job with a pending cancel becomes cancelled, not reported as stalled, without using an attempt.", flagged: true,
		do: func(t *T, r run) {
			t.Helper()
			t.equal("recovered", t.recover(endedAt, 5), []driver.Recovered(nil))
		},
		want: cancelWins(0)},
	{name: "Retry", rule: "A retry sends the job back for now + delay with a new seq, uses an attempt, and keeps its exit in the ledger only.",
		do: ackWith(driver.AckRetry, `"broken"`, 500, driver.Delayed),
		want: func(s *snapshot) {
			s.unlocked()
			s.Job.State, s.Job.RunAt, s.Job.Seq = driver.Delayed, endedAt+500, newSeq
			s.Job.AttemptsMade++
			s.entry(ranUntil(driver.OutcomeRetried, `"broken"`))
		}},
	{name: "RetryAtOnce", rule: "A retry without delay is waiting at once.",
		do: ackWith(driver.AckRetry, ``, 0, driver.Waiting),
		want: func(s *snapshot) {
			s.unlocked()
			s.Job.State, s.Job.RunAt, s.Job.Seq = driver.Waiting, endedAt, newSeq
			s.Job.AttemptsMade++
			s.entry(ranUntil(driver.OutcomeRetried, ``))
		}},
	{name: "Snooze", rule: "A snooze sends the job back for now + delay with a new seq, without attempt and ledger entry.",
		do: ackWith(driver.AckSnooze, ``, 500, driver.Delayed),
		want: func(s *snapshot) {
			s.unlocked()
			s.Job.State, s.Job.RunAt, s.Job.Seq = driver.Delayed, endedAt+500, newSeq
		}},
	{name: "SnoozeAtOnce", rule: "A snooze without delay is waiting at once.",
		do: ackWith(driver.AckSnooze, ``, 0, driver.Waiting),
		want: func(s *snapshot) {
			s.unlocked()
			s.Job.State, s.Job.RunAt, s.Job.Seq = driver.Waiting, endedAt, newSeq
		}},
	{name: "Release", rule: "A release puts the job back in its old place, without attempt and ledger entry.",
		do: ackWith(driver.AckRelease, ``, 0, driver.Waiting),
		want: func(s *snapshot) {
			s.unlocked()
			s.Job.State = driver.Waiting
		}},
	{name: "Stall", rule: "A stalled job goes back to waiting in its old place, stalledCount + 1, with an entry, without using an attempt.",
		do: func(t *T, r run) {
			t.Helper()
			t.equal("recovered", t.recover(endedAt, 5), []driver.Recovered{{ID: r.ID}})
		},
		want: func(s *snapshot) {
			s.unlocked()
			s.Job.State = driver.Waiting
			s.Job.StalledCount++
			s.entry(ranUntil(driver.OutcomeStalled, ``))
		}},
	{name: "StallBeyondTheLimit", rule: "A job that stalls beyond the limit becomes failed with a failedReason, stalledCount + 1, without exit and without using an attempt.",
		do: func(t *T, r run) {
			t.Helper()
			t.equal("recovered", t.recover(endedAt, 0), []driver.Recovered{{ID: r.ID, Failed: true}})
		},
		want: func(s *snapshot) {
			s.ended(endedAt, driver.Failed)
			s.Job.StalledCount++
			s.Job.FailedReason = driver.StalledReason
			s.entry(ranUntil(driver.OutcomeStalled, ``))
		}},
	{name: "CancelOfActive", rule: "A cancel of an active job flags it and changes nothing else.",
		do: func(t *T, r run) {
			t.Helper()
			t.equal("state", t.cancel(endedAt, r.ID), driver.Active)
			t.equal("state after a second cancel", t.cancel(endedAt+1, r.ID), driver.Active)
		},
		want: func(s *snapshot) { s.Job.CancelRequested = true }},
	{name: "Heartbeat", rule: "A heartbeat moves the lock's expiry to now + duration and changes nothing else.",
		do: func(t *T, r run) {
			t.Helper()
			t.equal("answer", t.heartbeat(endedAt, r.lock()), driver.HeartbeatResult{})
		},
		want: func(s *snapshot) { s.Job.LockExpiresAt = driver.Some(endedAt.Add(lockFor)) }},
}

func init() {
	for _, row := range transitions {
		register("Transition/"+row.name, row.rule, func(t *T) {
			t.insert(500, request("a", everything), request("b", everything))
			t.claimWith(600, driver.ClaimRequest{Token: "t", LockDuration: 100_000})
			t.settle(700, driver.Ack{ID: "a", Token: "t", Kind: driver.AckRetry, Exit: []byte(`"first"`)}, driver.Waiting)
			t.claimWith(800, driver.ClaimRequest{Token: "b", LockDuration: 100_000})
			got := t.claimWith(claimedAt, driver.ClaimRequest{Token: "t2", LockDuration: endedAt.Sub(claimedAt)})
			if len(got.Jobs) != 1 || got.Jobs[0].ID != "a" {
				t.Fatalf("the claim found %q; want a", idsOf(got.Jobs))
			}
			if row.flagged {
				t.cancel(claimedAt+1, "a")
			}
			before, other := t.snapshot("a"), t.snapshot("b")
			row.do(t, run{got.Jobs[0], "t2"})
			t.changed(before, row.want)
			t.unchanged(other)
		})
	}
}
