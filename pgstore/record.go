package pgstore

import (
	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
)

// record is what a transition needs to know of a job. It is locked until the
// transaction ends.
type record struct {
	id, queue, name string
	state           driver.State
	seq             int64
	attemptsMade    int32
	stalledCount    int32
	ledger          int32 // entries in attempts
	runAt           driver.Time
	processedAt     driver.Opt[driver.Time]
	token           string
	lockedBy        string
	cancelRequested bool
	staged          int64 // 0: no children are staged
	finishedAt      driver.Opt[driver.Time]
	turn            int64
	owing           bool
	dedupeKey       string
	dedupeTTL       bool
	flow            int64 // 0: no flow has landed
	settings        string
	parent          string

	// What a terminal job has.
	outcome      driver.Outcome
	ran          bool
	failedReason string
	expiresAt    driver.Opt[driver.Time]
	exit         []byte

	changed bool // update writes it
	deleted bool
}

func readRecord(rows pgx.Rows) (*record, error) {
	var r record
	var processedAt, staged, finishedAt, turn, flow *int64
	var token, lockedBy, dedupeKey, settings, parent *string
	err := rows.Scan(&r.id, &r.queue, &r.name, &r.state, &r.seq, &r.attemptsMade, &r.stalledCount, &r.ledger,
		(*int64)(&r.runAt), &processedAt, &token, &lockedBy, &r.cancelRequested, &staged, &finishedAt, &turn,
		&r.owing, &dedupeKey, &r.dedupeTTL, &flow, &settings, &parent)
	r.processedAt, r.finishedAt = timeOf(processedAt), timeOf(finishedAt)
	r.token, r.lockedBy, r.dedupeKey = orZero(token), orZero(lockedBy), orZero(dedupeKey)
	r.settings, r.parent = orZero(settings), orZero(parent)
	r.staged, r.turn, r.flow = orZero(staged), orZero(turn), orZero(flow)
	return &r, err
}

// records are the jobs that a transaction has loaded, by id.
type records map[string]*record

// load loads and locks jobs in the order of their ids, so that transactions that do
// so do not get in each other's way for good. It draws numbers for their transitions
// in the same round trip, and loads their flows in another one where there are any.
func (t *tx) load(ids []string) (records, error) {
	found := t.queueLoad("jobs_load", ids)
	if err := t.send(); err != nil {
		return nil, err
	}
	t.loaded = found
	return found, t.loadFlowsOf(found)
}

// loadFree is load but for jobs that others have locked, which it returns by id.
func (t *tx) loadFree(ids []string) (found records, held map[string]bool, err error) {
	found, held = t.queueLoad("jobs_load_free", ids), map[string]bool{}
	t.query("jobs_exist", func(rows pgx.Rows) error {
		var id string
		err := rows.Scan(&id)
		if found[id] == nil {
			held[id] = true
		}
		return err
	}, ids)
	if err := t.send(); err != nil {
		return nil, nil, err
	}
	t.loaded = found
	return found, held, t.loadFlowsOf(found)
}

// queueLoad queues the loading of jobs, and the drawing of numbers for them.
func (t *tx) queueLoad(st statement, ids []string) records {
	found := make(records, len(ids))
	t.query(st, func(rows pgx.Rows) error {
		rec, err := readRecord(rows)
		if err == nil {
			found[rec.id] = rec
		}
		return err
	}, ids)
	t.draw(2*len(ids) + 2)
	return found
}

// loadLocked keeps jobs that a statement has locked and returned.
func (t *tx) loadLocked(recs []*record) error {
	t.loaded = make(records, len(recs))
	for _, rec := range recs {
		t.loaded[rec.id] = rec
	}
	return t.loadFlowsOf(t.loaded)
}

// loadFlowsOf loads the flows of parents.
func (t *tx) loadFlowsOf(recs records) error {
	var numbers []int64
	for _, rec := range recs {
		for _, flow := range []int64{rec.flow, rec.staged} {
			if flow != 0 {
				numbers = append(numbers, flow)
			}
		}
	}
	if len(numbers) == 0 {
		return nil
	}
	return t.loadFlows(numbers)
}
