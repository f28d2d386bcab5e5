package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/storekit"
)

// Enqueue implements [driver.Producer]. A chunk is one transaction: one statement,
// unless items have dedup keys.
func (s *Store) Enqueue(ctx context.Context, now driver.Time, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
	return s.enqueue(ctx, polite, now, batch)
}

// EnqueueGrouped implements [driver.GroupedProducer].
func (s *Store) EnqueueGrouped(ctx context.Context, now driver.Time, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
	return s.enqueue(ctx, hasty, now, batch)
}

func (s *Store) enqueue(ctx context.Context, p patience, now driver.Time, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
	results := make([]driver.EnqueueResult, len(batch))
	if len(batch) == 0 {
		return results, s.serves(ctx)
	}
	for from := 0; from < len(batch); {
		to := storekit.ChunkEnd(from, len(batch), driver.ChunkJobs, func(i int) int { return requestSize(&batch[i]) })
		if err := s.enqueueChunk(ctx, p, now, batch[from:to], results[from:to]); err != nil {
			return results[:from], storekit.Partial(from, err)
		}
		from = to
	}
	return results, nil
}

func requestSize(r *driver.EnqueueRequest) int {
	size := len(r.ID) + len(r.Payload)
	for key, text := range r.Metadata {
		size += len(key) + len(text)
	}
	return size
}

func (s *Store) enqueueChunk(ctx context.Context, p patience, now driver.Time, batch []driver.EnqueueRequest, results []driver.EnqueueResult) error {
	if s.generateID == nil && !s.secured {
		done, err := s.enqueuePlain(ctx, p, now, batch, results)
		if done || err != nil {
			return err
		}
	}
	return s.transactAs(ctx, p, "Enqueue", now, func(t *tx) error { return t.enqueue(batch, results) })
}

// enqueuePlain inserts a batch without dedup keys, in which all items or none have
// ids, in one round trip. It reports whether it did; if not, nothing was applied.
func (s *Store) enqueuePlain(ctx context.Context, p patience, now driver.Time, batch []driver.EnqueueRequest, results []driver.EnqueueResult) (bool, error) {
	named := batch[0].ID != ""
	for i := range batch {
		if batch[i].Dedupe != nil || named != (batch[i].ID != "") {
			return false, nil
		}
	}
	rows := newJobRows(len(batch))
	var seen map[string]int // the first item of an id that was named
	if named {
		seen = make(map[string]int, len(batch))
	}
	for i := range batch {
		id := batch[i].ID
		if !named {
			var err error
			if id, err = s.assignID(ctx, nil); err != nil {
				return false, err
			}
		}
		results[i] = driver.EnqueueResult{ID: id}
		if named {
			if _, again := seen[id]; again {
				results[i].Duplicate = true
				continue
			}
			seen[id] = i
		}
		rows.add(now, id, &batch[i], batch[i].Delay > 0, nil)
	}
	args := rows.inserts()
	err := s.pipelineAs(ctx, p, "Enqueue", now, func(t *tx) {
		var existing []int
		t.counted = true
		if named {
			t.query("jobs_insert", func(row pgx.Rows) error {
				var id string
				var seq int64
				err := row.Scan(&id, &seq)
				existing = append(existing, seen[id])
				return err
			}, args...)
		} else {
			t.exec("jobs_insert_new", args...)
			rows.count(&t.changes)
			t.flushCounts()
		}
		t.settled = func() {
			s.growth.insert(len(rows.ids) - len(existing))
			for _, i := range existing {
				results[i].Duplicate = true
			}
			for i := range results {
				if !results[i].Duplicate && (i == 0 || results[i-1].Duplicate || batch[i].Queue != batch[i-1].Queue) {
					t.wake(batch[i].Queue)
				}
			}
		}
	})
	if sqlState(err) == codeUniqueViolation && !named {
		return false, nil // a user has named a job like that
	}
	return err == nil, err
}

// pendingJob is a job that a batch is about to insert.
type pendingJob struct {
	item     int
	id       string
	assigned bool
	delayed  bool
	req      *driver.EnqueueRequest // with what a later item of the batch has replaced
	seq      *int64                 // drawn by a former try to insert it
}

// enqueuing is a batch on its way in.
type enqueuing struct {
	*tx
	batch   []driver.EnqueueRequest
	results []driver.EnqueueResult
	keys    map[dedupeKey]*dedupeEntry
	taken   map[string]bool // ids that exist
	pending []*pendingJob
	byID    map[string]*pendingJob
	replace map[string]*driver.EnqueueRequest // of existing jobs, by id
}

// enqueue applies a batch, item by item in its order, with a few round trips for all.
func (t *tx) enqueue(batch []driver.EnqueueRequest, results []driver.EnqueueResult) error {
	e := &enqueuing{tx: t, batch: batch, results: results, taken: map[string]bool{},
		byID: map[string]*pendingJob{}, replace: map[string]*driver.EnqueueRequest{}}
	if err := e.look(); err != nil {
		return err
	}
	for i := range batch {
		if err := e.apply(i); err != nil {
			return err
		}
	}
	if err := e.insert(); err != nil {
		return err
	}
	e.saveReplaced()
	e.locked = e.keys
	e.flush()
	return nil
}

// look learns whose the batch's keys are and which of its ids exist, and locks the keys
// that it may change and the jobs that may be replaced.
func (e *enqueuing) look() error {
	keys := map[dedupeKey]keyUse{}
	var ids []string
	for i := range e.batch {
		if d := e.batch[i].Dedupe; d != nil {
			k := dedupeKey{e.batch[i].Name, d.Key}
			_, window := d.TTL.Get()
			keys[k] = keyUse{
				replaces: keys[k].replaces || d.Replace,
				extends:  keys[k].extends || window && (d.Extend || d.Replace),
			}
			if e.batch[i].ID != "" {
				ids = append(ids, e.batch[i].ID)
			}
		}
	}
	if len(keys) == 0 {
		return nil
	}
	var err error
	if e.keys, err = e.lockKeys(keys); err != nil {
		return err
	}
	if len(ids) > 0 {
		e.query("jobs_exist", func(rows pgx.Rows) error {
			var id string
			err := rows.Scan(&id)
			e.taken[id] = true
			return err
		}, ids)
	}
	// Keys are locked before their jobs here, and after them where a job ends: so this
	// must not wait for a job.
	var delayed []string
	for i := range e.batch {
		if d := e.batch[i].Dedupe; d != nil && d.Replace {
			if k := e.keys[dedupeKey{e.batch[i].Name, d.Key}]; k.replaceable() {
				delayed = append(delayed, k.id)
			}
		}
	}
	delayed = unique(delayed)
	if len(delayed) > 0 {
		e.query("jobs_lock_delayed", func(rows pgx.Rows) error {
			var id string
			if err := rows.Scan(&id); err != nil {
				return err
			}
			e.replace[id] = nil
			return nil
		}, delayed)
	}
	if err := e.send(); err != nil {
		return err
	}
	if len(e.replace) < len(delayed) {
		return errHeld
	}
	return nil
}

// apply decides about one item.
func (e *enqueuing) apply(i int) error {
	req := &e.batch[i]
	if req.ID != "" && (e.taken[req.ID] || e.byID[req.ID] != nil) {
		e.results[i] = driver.EnqueueResult{ID: req.ID, Duplicate: true}
		return nil
	}
	if req.Dedupe != nil {
		k := e.keys[dedupeKey{req.Name, req.Dedupe.Key}]
		if k.holds(e.now, nil) {
			if k.hidden && k.inserted < 0 {
				return hiddenError("dedup key", req.Dedupe.Key)
			}
			e.meet(k, req)
			e.results[i] = driver.EnqueueResult{ID: k.id, Duplicate: true}
			return nil
		}
	}
	p := &pendingJob{item: i, id: req.ID, delayed: req.Delay > 0, req: req}
	if p.id == "" {
		p.assigned = true
		var err error
		if p.id, err = e.assignFree(); err != nil {
			return err
		}
	}
	e.pending = append(e.pending, p)
	e.byID[p.id] = p
	e.results[i] = driver.EnqueueResult{ID: p.id}
	if req.Dedupe != nil {
		e.take(e.keys[dedupeKey{req.Name, req.Dedupe.Key}], p)
	}
	return nil
}

// assignFree draws an id that the batch itself does not use.
func (e *enqueuing) assignFree() (string, error) {
	for range maxIDCollisions {
		id, err := e.store.assignID(e.ctx, e.tx)
		if err != nil {
			return "", err
		}
		if id != "" && e.byID[id] == nil && !e.taken[id] {
			return id, nil
		}
	}
	return "", e.store.outOfIDs()
}

// take gives a key to a job of the batch.
func (e *enqueuing) take(k *dedupeEntry, p *pendingJob) {
	k.id, k.owned, k.changed, k.inserted, k.parked = p.id, true, true, p.item, false
	k.expiresAt = driver.Opt[driver.Time]{}
	if ttl, window := p.req.Dedupe.TTL.Get(); window {
		k.expiresAt = driver.Some(e.now.Add(ttl))
	}
}

// meet does to a key that holds, and to its job, what the item asks for.
func (e *enqueuing) meet(k *dedupeEntry, req *driver.EnqueueRequest) {
	_, window := k.expiresAt.Get()
	ttl, hasTTL := req.Dedupe.TTL.Get()
	replaced := false
	if req.Dedupe.Replace && k.owned {
		if p := e.byID[k.id]; p != nil {
			if replaced = p.delayed; replaced {
				rewritten := *p.req
				rewriteSpec(&rewritten, req)
				p.req = &rewritten
				e.wake(rewritten.Queue)
			}
		} else if _, replaced = e.replace[k.id]; replaced {
			e.replace[k.id] = req
		}
	}
	if window && hasTTL && (replaced || req.Dedupe.Extend) {
		k.expiresAt, k.changed = driver.Some(e.now.Add(ttl)), true
	}
}

// rewriteSpec replaces what a dedup replace replaces.
func rewriteSpec(old *driver.EnqueueRequest, by *driver.EnqueueRequest) {
	queue, parent := old.Queue, old.Parent
	old.Spec = by.Spec
	old.Queue, old.Parent = queue, parent
	old.Delay = by.Delay
}

// insert inserts the pending jobs. Assigned ids that turn out to be taken are drawn
// again.
func (e *enqueuing) insert() error {
	open := e.pending
	for range maxIDCollisions {
		if len(open) == 0 {
			return nil
		}
		rows := newJobRows(len(open))
		for _, p := range open {
			rows.add(e.now, p.id, p.req, p.delayed, p.seq)
		}
		var collided []*pendingJob
		e.query("jobs_insert", func(row pgx.Rows) error {
			var id string
			var seq int64
			if err := row.Scan(&id, &seq); err != nil {
				return err
			}
			p := e.byID[id]
			p.seq = &seq
			collided = append(collided, p)
			return nil
		}, rows.inserts()...)
		if err := e.send(); err != nil {
			return err
		}
		open = nil
		if err := e.checkHidden(collided); err != nil {
			return err
		}
		for _, p := range collided {
			if err := e.collide(p, &open); err != nil {
				return err
			}
		}
	}
	return e.store.outOfIDs()
}

// checkHidden refuses items whose ids belong to jobs that their caller cannot see.
func (e *enqueuing) checkHidden(collided []*pendingJob) error {
	var ids []string
	for _, p := range collided {
		if !p.assigned {
			ids = append(ids, p.id)
		}
	}
	return e.refuseHidden(ids)
}

// refuseHidden returns an error if row-level security hides one of some jobs, which exist,
// from the caller: the answer that it is a duplicate would say that the caller's job is
// there, and it is another's.
func (t *tx) refuseHidden(ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	var hidden string
	t.scan("jobs_hidden", nil, []any{&hidden}, ids)
	if err := t.send(); err != nil || hidden == "" {
		return err
	}
	return hiddenError("id", hidden)
}

func hiddenError(field, value string) error {
	return &driver.InvalidError{Field: field, Value: value, Reason: "belongs to a job that row-level security hides from this role; " +
		"ids and dedup keys are shared by all who use the store, so put the tenant into them, or enqueue with a role that sees all jobs"}
}

// collide deals with a job whose id was taken after all.
func (e *enqueuing) collide(p *pendingJob, open *[]*pendingJob) error {
	switch {
	case p.assigned:
		delete(e.byID, p.id)
		id, err := e.assignFree()
		if err != nil {
			return err
		}
		if p.req.Dedupe != nil {
			e.keys[dedupeKey{p.req.Name, p.req.Dedupe.Key}].id = id
			for i := range e.results {
				if e.results[i].ID == p.id && e.results[i].Duplicate {
					e.results[i].ID = id
				}
			}
		}
		p.id = id
		e.byID[id] = p
		e.results[p.item] = driver.EnqueueResult{ID: id}
		*open = append(*open, p)
	case p.req.Dedupe != nil:
		return errCollision // it came meanwhile, and keeps its key from this one
	default:
		delete(e.byID, p.id)
		e.results[p.item].Duplicate = true
	}
	return nil
}

// saveReplaced queues the rewriting of existing jobs, and the wakes of what was
// inserted.
func (e *enqueuing) saveReplaced() {
	rows := newJobRows(len(e.replace))
	for id, req := range e.replace {
		if req != nil {
			rows.add(e.now, id, req, true, nil)
		}
	}
	if len(rows.ids) > 0 {
		e.query("jobs_replace", func(row pgx.Rows) error {
			var queue string
			err := row.Scan(&queue)
			e.wake(queue)
			return err
		}, rows.args()...)
	}
	for _, p := range e.byID {
		e.wake(p.req.Queue)
	}
}

// outOfIDs is the error of an enqueue that finds no free id.
func (s *Store) outOfIDs() error {
	return &driver.StoreError{Op: "Enqueue", Retryable: s.generateID == nil,
		Err: fmt.Errorf("%d assigned ids in a row were taken; name the ids, or use a generator with more of them", maxIDCollisions)}
}
