package drivertest

import (
	"slices"
	"strings"
	"testing"

	"github.com/braidmq/braid/driver"
)

// brokenStores are stores that break one rule each, with the case that must
// fail on it.
var brokenStores = []struct {
	rule    string
	breaks  func(b *broken)
	fails   string // the case
	history bool   // whether a few histories must see it too
}{
	{"an existing id is looked at after dedup", existingIDAfterDedupe, "Enqueue/ExistingIDComesBeforeDedupe", true},
	{"a batch is inserted backwards", backwardBatches, "Claim/OrderWithinOneBatch", true},
	{"a priority is ignored", losesPriority, "Claim/HigherPriorityFirst", true},
	{"a null payload becomes absent", rewriting(func(r *driver.EnqueueRequest) {
		if string(r.Payload) == "null" {
			r.Payload = nil
		}
	}), "Values/AbsentIsNotNull", true},
	{"an empty metadata value is dropped", rewriting(func(r *driver.EnqueueRequest) {
		m := make(map[string]string)
		for k, v := range r.Metadata {
			if v != "" {
				m[k] = v
			}
		}
		r.Metadata = m
	}), "Values/Metadata", true},
	{"a timeout of zero becomes absent", rewriting(func(r *driver.EnqueueRequest) {
		if r.Timeout.Value == 0 {
			r.Timeout = driver.Opt[driver.Millis]{}
		}
	}), "Values/ZerosArePresent", true},
	{"time 0 is taken for absent", timeZeroIsAbsent, "Values/TimeZero", true},

	{"a NUL in a lookup is an error", nulsAreErrors, "Limits/LookupsOfWhatCannotBe", false},
	{"cursors are not looked into", forgivesCursors, "Limits/CursorsOfWhatCannotBe", false},
	{"the number of metadata entries wraps", rewriting(func(r *driver.EnqueueRequest) {
		if len(r.Metadata) >= 1<<16 {
			r.Metadata = nil
		}
	}), "Limits/AJobIsKeptOrRefused", false},
	{"the length of a cron wraps", cronsWrap, "Limits/AScheduleIsKeptOrRefused", false},

	{"a window is pushed out without extend", rededuping(func(d *driver.Dedupe) { d.Extend = true }), "Dedupe/WindowIsNotPushedOut", false},
	{"extend is ignored", rededuping(func(d *driver.Dedupe) { d.Extend = false }), "Dedupe/ExtendRestartsTheWindow", false},
	{"replace is ignored", rededuping(func(d *driver.Dedupe) { d.Replace = false }), "Dedupe/ReplaceRewritesADelayedJob", true},
	{"an operator's retry takes a window's key as one without ttl", retryTakesWindows, "Dedupe/RetryLeavesAnExpiredWindow", false},
	{"an operator's retry restarts a window", retryRestartsWindows, "Dedupe/RetryLeavesALiveWindow", false},
	{"a key whose job is gone holds nothing", rededuping(func(d *driver.Dedupe) { d.TTL = driver.Opt[driver.Millis]{} }), "Dedupe/WindowOfAJobThatVanished", false},
	{"a window ends with its job", rededuping(func(d *driver.Dedupe) { d.TTL = driver.Opt[driver.Millis]{} }), "Dedupe/WindowThrottlesPastCompletion", true},

	{"a lock expires at once", claiming(func(_ *broken, _ driver.Time, r *driver.ClaimRequest) { r.LockDuration = 1 }), "Claim/LocksTheJob", true},
	{"resume is ignored", claiming(func(_ *broken, _ driver.Time, r *driver.ClaimRequest) { r.Resume = false }), "Claim/ResumeReturnsItsJobs", true},
	{"names are ignored", claiming(func(_ *broken, _ driver.Time, r *driver.ClaimRequest) {
		r.Names = append(slices.Clone(r.Names), "foreign", "plain", "last", "brief")
	}), "Claim/OnlyItsNames", true},
	{"a paused queue is claimed from", claimsWhilePaused, "Operate/Pause", true},
	{"a claim does not tell the next time", noNextRunAt, "Claim/NextRunAt", true},

	{"wakes between claim and wait are lost", wakesGetLost, "Wake/ByEnqueue", false},
	{"waiters of other queues are woken", wakesOfOthers, "Wake/OnlyItsQueue", false},
	{"a settled flow wakes other queues", wakesOfOthers, "Flow/SettleWakesTheParentsQueue", false},
	{"an empty fan-out's wake is lost", wakesGetLost, "Flow/EmptyFanOutWakes", false},

	{"an ack accepts a stale token", acking(func(b *broken, a *driver.Ack) { a.Token = b.tokenOf(a.ID) }), "Ack/CompleteNeedsTheToken", true},
	{"a release takes a new seq", acking(func(_ *broken, a *driver.Ack) {
		if a.Kind == driver.AckRelease {
			a.Kind, a.Delay = driver.AckSnooze, 0
		}
	}), "Ack/ReleaseKeepsThePlace", true},
	{"a retry uses no attempt", acking(func(_ *broken, a *driver.Ack) {
		if a.Kind == driver.AckRetry {
			a.Kind = driver.AckSnooze
		}
	}), "Transition/Retry", true},
	{"an exit is lost", acking(func(_ *broken, a *driver.Ack) { a.Exit = nil }), "Values/Exits", true},
	{"a complete loses to a cancel", cancelBeats(driver.AckComplete), "Transition/CompleteBeatsCancel", true},
	{"a fail loses to a cancel", cancelBeats(driver.AckFail), "Transition/FailBeatsCancel", true},
	{"a batch of acks stops at the first bad item", stopsAtBadItems, "Ack/BadItemsDoNotHurtGoodOnes", true},

	{"a heartbeat extends only locks that have not run out", extendsOnlyLiveLocks, "Heartbeat/ExtendsALockThatRanOut", true},
	{"a heartbeat does not extend cancelled jobs", dropsCancelled, "Heartbeat/DeliversCancelRequests", false},
	{"a lock is recovered a moment too late", recoversTooLate, "Stall/RecoveredAtItsExpiry", false},
	{"a job may stall for ever", stallsForever, "Stall/RepeatOffenderFails", true},

	{"a cancel finishes an active job", cancelEndsActive, "Transition/CancelOfActive", true},
	{"an operator's retry keeps the budget", retryKeepsBudget, "Operate/Retry", true},
	{"a promotion takes a new place", promoteTakesNewPlace, "Operate/Promote", true},
	{"an active job is removed", removesActive, "Operate/RemoveActive", true},

	{"a list repeats a tie across pages", repeatsTies, "List/Pages", true},
	{"a list with no states lists all", emptyStatesMatchAll, "List/EmptyStatesMatchNothing", true},
	{"counts are off after a removal", countsKeepRemoved, "Counts/FollowEveryTransition", true},
	{"a position counts the job itself", positionCountsItself, "Position/CountsJobsAhead", true},

	{"keep keeps one too many", rewriting(keepsOneMore), "Keep/CountOfCompleted", true},
	{"history is not swept", historyIsNotSwept, "Retention/CeilingForAll", true},

	{"the job of a pruned slot is inserted again", firesPastSlots, "Tick/OfAPrunedSlot", true},
	{"an upsert turns a schedule back", upsertTurnsBack, "Schedule/UpsertKeepsTheSlot", true},
	{"overlap is ignored", overlapIsIgnored, "Tick/SkipsWhileWaiting", true},

	{"a parent is reported settled twice", settlesOnEveryReport, "Flow/BatchIsPositional", true},
	{"a report is applied twice", appliesTwice, "Flow/FirstReportStands", true},
	{"a report's child id is not checked", childIDsAreNotChecked, "Flow/ReportsAreCheckedAgainstTheRow", true},
	{"a row loses its failed reason", reportReasonsGetLost, "Flow/ReportsMoveCountersAndRows", true},
	{"a counter becomes negative", countersGoNegative, "Flow/LateReportsNeverMakeACounterNegative", true},
	{"the first report of a batch only is recorded", recordsFirstOfABatch, "Flow/BatchSpansFlows", true},
	{"fail-fast is forgotten", failFastIsForgotten, "Flow/FailFast", true},
	{"a cascade is forgotten", cascadesAreForgotten, "Flow/CascadeUntilMarked", true},
	{"a sweep does not re-arm", sweepDoesNotRearm, "Flow/SweepRearms", true},
	{"a sweep forgets the requests", sweepForgetsRequests, "Flow/SweepReconcilesWhatIsPendingForLong", true},
	{"rows are not in byte order", rowsIgnoreCase, "Flow/ChildrenInByteOrder", false},
	{"children are staged under any token", stagesUnderAnyToken, "Flow/StagingChecksTheToken", true},
	{"retention ignores owed cascades", retentionIgnoresDebts, "Flow/KeepSparesOwedCascades", true},

	{"dead workers live on", deadWorkersLive, "Workers/ExpireByThemselves", true},
	{"workers are not in byte order", workersIgnoreCase, "Workers/ArePaged", false},
	{"the wait is forgotten", waitIsForgotten, "Stats/WaitBeginsWhenAJobCanRun", true},
	{"retries count as failures", retriesAreFailures, "Stats/CountRunsByOutcome", true},
	{"refused acks count", refusedAcksCount, "Stats/OnlyWhatEndsARun", true},
	{"pages of stats cut minutes", pagesCutMinutes, "Stats/ArePaged", false},
	{"samples of the depth are late", samplesLate, "Stats/DepthsAreSampled", true},
	{"samples of the depth end", samplesNoOldOnes, "Stats/DepthsAreKeptForADay", false},
	{"stats stay for ever", statsStayForEver, "Stats/AreKeptForADay", true},

	{"the outbox misses stalls", outboxMissesStalls, "Outbox/StalledTooOften", true},
	{"the outbox misses removals", outboxMissesRemovals, "Outbox/RemoveOfWaiting", true},
	{"the outbox misses nested parents", outboxMissesNestedParents, "Outbox/FailFastOfANestedParent", true},
	{"hold is ignored", peeking(func(_ *broken, r *driver.PeekRequest) { r.Hold = 0 }), "Outbox/Hold", true},
	{"every peek holds", peeking(func(_ *broken, r *driver.PeekRequest) { r.Hold = max(1, r.Hold) }), "Outbox/Hold", true},
	{"store keys are ignored", peeking(func(_ *broken, r *driver.PeekRequest) { r.StoreKeys = nil }), "Outbox/StoreKeys", true},
	{"a page behind a deleted entry starts again", peeking(pagesFromPresentOnly), "Outbox/PagesPastDeletedEntries", false},
}

var losesPriority = rewriting(func(r *driver.EnqueueRequest) { r.Priority = 0 })

// losing is the harness of stores that lose priorities.
var losing = breaking(losesPriority)

func keepsOneMore(r *driver.EnqueueRequest) {
	if r.Keep == nil {
		return
	}
	k := *r.Keep
	for _, of := range []*driver.Retention{&k.Completed, &k.Failed, &k.Cancelled} {
		of.Count.Value++
	}
	r.Keep = &k
}

// A suite that passes a broken store proves nothing about the others.
func TestEveryBrokenStoreFailsItsCase(t *testing.T) {
	for _, b := range brokenStores {
		t.Run(b.rule, func(t *testing.T) {
			seen := Observe(t, breaking(b.breaks), b.fails)
			if !seen.Failed {
				t.Errorf("case %s passes a store where %s", b.fails, b.rule)
			}
			for _, line := range seen.Log {
				if strings.HasPrefix(line, "panic:") {
					t.Errorf("case %s failed by a panic, not by its rule: %s", b.fails, line)
				}
			}
			if sound := Observe(t, memory, b.fails); sound.Failed {
				t.Errorf("case %s fails the sound store too: %q", b.fails, sound.Log)
			}
		})
	}
}

// Histories must see what they can see.
func TestHistoriesSeeBrokenStores(t *testing.T) {
	const seeds = 20
	for _, b := range brokenStores {
		if !b.history {
			continue
		}
		t.Run(b.rule, func(t *testing.T) {
			for seed := uint64(1); seed <= seeds; seed++ {
				if _, failure := drawHistory(t, breaking(b.breaks), HistoryOptions{}.withDefaults(), seed); failure != "" {
					return
				}
			}
			t.Errorf("%d histories pass a store where %s", seeds, b.rule)
		})
	}
}
