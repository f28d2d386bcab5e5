package memstore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

// dedupeKey is a dedup key within its scope.
type dedupeKey struct{ name, key string }

// dedupeEntry says which job a key belongs to.
type dedupeEntry struct {
	dedupeKey
	id  string  // of the job, which outlives it in a window
	rec *record // nil once the job is gone
	// expiresAt closes the window; without one the key holds while the job lives.
	expiresAt driver.Opt[driver.Time]
}

// expiresEarlier orders entries with a window by its end.
func expiresEarlier(a, b *dedupeEntry) bool {
	if a.expiresAt.Value != b.expiresAt.Value {
		return a.expiresAt.Value < b.expiresAt.Value
	}
	if a.name != b.name {
		return a.name < b.name
	}
	return a.key < b.key
}

// live reports whether the entry holds its key at now.
func (e *dedupeEntry) live(now driver.Time) bool {
	if end, window := e.expiresAt.Get(); window {
		return now < end
	}
	return e.rec != nil && !e.rec.job.State.Terminal()
}

// meetDedupe looks for a live entry in the request's way, and does to it and its
// job what the request asks for.
func (s *Store) meetDedupe(now driver.Time, req *driver.EnqueueRequest) (id string, duplicate bool) {
	e := s.dedupes[dedupeKey{req.Name, req.Dedupe.Key}]
	if e == nil || !e.live(now) {
		return "", false
	}
	_, window := e.expiresAt.Get()
	ttl, hasTTL := req.Dedupe.TTL.Get()
	replace := req.Dedupe.Replace && e.rec != nil && e.rec.job.State == driver.Delayed && e.rec.flow == nil
	if replace {
		s.replace(now, e.rec, req)
	}
	if window && hasTTL && (replace || req.Dedupe.Extend) {
		s.dedupeEnds.Delete(e)
		e.expiresAt = driver.Some(now.Add(ttl))
		s.dedupeEnds.Set(e)
	}
	return e.id, true
}

// replace rewrites a delayed job in place.
func (s *Store) replace(now driver.Time, rec *record, req *driver.EnqueueRequest) {
	s.detach(rec)
	rec.job.rewrite(&req.Spec)
	rec.job.RunAt = now.Add(req.Delay)
	s.attach(rec)
	s.wake(rec.queue())
}

// takeDedupe gives the key to the job, which must find it free.
func (s *Store) takeDedupe(now driver.Time, rec *record, d *driver.Dedupe) {
	rec.job.DedupeKey = d.Key
	rec.job.DedupeTTL = d.TTL.Set
	e := &dedupeEntry{dedupeKey: dedupeKey{rec.name(), d.Key}, id: rec.job.ID, rec: rec}
	if ttl, window := d.TTL.Get(); window {
		e.expiresAt = driver.Some(now.Add(ttl))
	}
	s.dropDedupe(s.dedupes[e.dedupeKey])
	s.dedupes[e.dedupeKey] = e
	if e.expiresAt.Set {
		s.dedupeEnds.Set(e)
	}
}

// retakeDedupe gives a job that runs again its key without ttl, if it is free.
func (s *Store) retakeDedupe(now driver.Time, rec *record) {
	key := rec.job.DedupeKey
	if key == "" || rec.job.DedupeTTL {
		return
	}
	if e := s.dedupes[dedupeKey{rec.name(), key}]; e != nil && e.live(now) {
		rec.job.DedupeKey = ""
		return
	}
	s.takeDedupe(now, rec, &driver.Dedupe{Key: key})
}

// dedupeOf returns the entry that the job owns, if any.
func (s *Store) dedupeOf(rec *record) *dedupeEntry {
	if rec.job.DedupeKey == "" {
		return nil
	}
	e := s.dedupes[dedupeKey{rec.name(), rec.job.DedupeKey}]
	if e == nil || e.rec != rec {
		return nil
	}
	return e
}

// freeDedupe frees the job's key without ttl; a window stays.
func (s *Store) freeDedupe(rec *record) {
	if e := s.dedupeOf(rec); e != nil && !e.expiresAt.Set {
		s.dropDedupe(e)
	}
}

// forgetDeduped cuts a window off from a job that is going.
func (s *Store) forgetDeduped(rec *record) {
	if e := s.dedupeOf(rec); e != nil {
		e.rec = nil
	}
}

func (s *Store) dropDedupe(e *dedupeEntry) {
	if e == nil {
		return
	}
	if e.expiresAt.Set {
		s.dedupeEnds.Delete(e)
	}
	delete(s.dedupes, e.dedupeKey)
}

// CancelByDedupe implements [driver.Producer].
func (s *Store) CancelByDedupe(ctx context.Context, now driver.Time, name, key string) (bool, error) {
	if err := s.lock(ctx); err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	e := s.dedupes[dedupeKey{name, key}]
	if e == nil || e.rec == nil || !e.live(now) {
		return false, nil
	}
	switch e.rec.job.State {
	case driver.Waiting, driver.Delayed, driver.WaitingChildren:
		s.cancel(newCall(now, 1), e.rec)
		return true, nil
	}
	return false, nil
}

// SweepDedupe implements [driver.Sweeper].
func (s *Store) SweepDedupe(ctx context.Context, now driver.Time, limit int) (driver.SweepResult, error) {
	return s.sweep(ctx, limit, func() bool {
		e, ok := s.dedupeEnds.Min()
		return ok && !e.live(now)
	}, func() {
		e, _ := s.dedupeEnds.Min()
		s.dropDedupe(e)
	})
}
