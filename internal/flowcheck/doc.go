// Package flowcheck checks that the flows in a set of stores are sound: that
// counters, rows, jobs and outboxes agree, and that nothing waits for what will
// never come.
//
// It reads through the store interface only, page by page, and changes nothing. It
// supposes a quiet system: stores in which nothing moves while it reads, and whose
// workers have had time to relay and to sweep. On a busy one it may report what is
// only on its way.
package flowcheck

// The rules that a [Problem] names.
const (
	// RuleCounts: the counts of a store are those of its lists.
	RuleCounts = "counts equal what lists find"
	// RuleQueues: every queue with a job is among the queues.
	RuleQueues = "every queue with a job is listed"
	// RuleManifest: a manifest's counters are those of its rows.
	RuleManifest = "a flow's counters equal its rows"
	// RuleParked: a parent is parked exactly while a child is pending.
	RuleParked = "a parent is parked exactly while a child is pending"
	// RuleCascaded: only a row that was cancelled may owe a cascade.
	RuleCascaded = "only cancelled rows owe a cascade"
	// RuleRowWithoutFlow: rows are visible only below a flow that has landed.
	RuleRowWithoutFlow = "no row without its flow"
	// RuleWaits: nothing waits for a child that has ended, or is not there.
	RuleWaits = "nothing waits for what has already finished"
	// RuleReported: a child that has ended was recorded, or its outcome is in the outbox.
	RuleReported = "every finished child is recorded or in the outbox"
	// RuleChildWithoutRow: a parked parent has a row for each of its children's jobs.
	RuleChildWithoutRow = "no child job without its row while its parent is parked"
	// RuleResult: a recorded result is that of the child's job.
	RuleResult = "a recorded result is the child's"
	// RuleBacklog: the backlog of an outbox is its length.
	RuleBacklog = "the backlog of the outbox is its length"
	// RuleStore: every store that an open flow waits for is among those that are checked.
	// What has ended needs its stores no more: a report only says that it was not compared.
	RuleStore = "every store that an open flow names is known"
)
