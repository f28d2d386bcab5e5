package sqlitestore

import (
	"context"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/rowcodec"
)

// dedupeEntry says which job a key belongs to.
type dedupeEntry struct {
	id  string
	rec *record // nil once the job is gone
	// expiresAt closes the window; without one the key holds while the job lives.
	expiresAt driver.Opt[driver.Time]
}

// live reports whether the entry holds its key at now.
func (e *dedupeEntry) live(now driver.Time) bool {
	if end, window := e.expiresAt.Get(); window {
		return now < end
	}
	return e.rec != nil && !e.rec.state.Terminal()
}

// dedupeEntry returns the entry of a key, or nil.
func (t *tx) dedupeEntry(name, key string) (*dedupeEntry, error) {
	var e *dedupeEntry
	var job int64
	_, err := first(t, "dedupe_load", func(r row) {
		e = &dedupeEntry{id: r.text(0), expiresAt: r.optionalTime(2)}
		job = r.integer(1)
	}, name, key)
	if err != nil || e == nil || job == 0 {
		return e, err
	}
	e.rec, err = t.recordOf(job)
	return e, err
}

// meetDedupe looks for a live entry in the request's way, and does to it and its
// job what the request asks for.
func (st step) meetDedupe(req *driver.EnqueueRequest) (id string, duplicate bool, err error) {
	e, err := st.dedupeEntry(req.Name, req.Dedupe.Key)
	if err != nil || e == nil || !e.live(st.now) {
		return "", false, err
	}
	_, window := e.expiresAt.Get()
	ttl, hasTTL := req.Dedupe.TTL.Get()
	replace := req.Dedupe.Replace && e.rec != nil && e.rec.state == driver.Delayed && e.rec.flow == 0
	if replace {
		if err := st.replace(e.rec, req); err != nil {
			return "", false, err
		}
	}
	if window && hasTTL && (replace || req.Dedupe.Extend) {
		if _, err := st.exec("dedupe_restart", req.Name, req.Dedupe.Key, st.now.Add(ttl)); err != nil {
			return "", false, err
		}
	}
	return e.id, true, nil
}

// replace rewrites a delayed job in place.
func (st step) replace(rec *record, req *driver.EnqueueRequest) error {
	if rec.large {
		if _, err := st.exec("payload_delete", rec.job); err != nil {
			return err
		}
	}
	payload, large := req.Payload, len(req.Payload) >= largePayload
	if large {
		payload = nil
		if _, err := st.exec("payload_insert", rec.job, req.Payload); err != nil {
			return err
		}
	}
	_, err := st.exec("job_replace", rec.job, -int64(req.Priority), req.AttemptsMax, st.now.Add(req.Delay),
		optional(rowcodec.EncodeMetadata(req.Metadata)), optional(rowcodec.EncodeSettings(req.Backoff, req.Keep, req.Timeout)),
		optional(rowcodec.EncodeTrace(req.Trace)), large, payload)
	st.wake(rec.queue)
	return err
}

// takeDedupe gives the key to the job, which must find it free.
func (st step) takeDedupe(name, key, id string, job int64, ttl driver.Opt[driver.Millis]) error {
	expiresAt := driver.Opt[driver.Time]{}
	if ttl.Set {
		expiresAt = driver.Some(st.now.Add(ttl.Value))
	}
	_, err := st.exec("dedupe_take", name, key, id, job, expiresAt)
	return err
}

// retakeDedupe gives a job that runs again its key without ttl, if it is free, and
// returns the key that it has then.
func (st step) retakeDedupe(rec *record) (string, error) {
	if rec.dedupeKey == "" || rec.dedupeTTL {
		return rec.dedupeKey, nil
	}
	e, err := st.dedupeEntry(rec.name, rec.dedupeKey)
	if err != nil {
		return "", err
	}
	if e != nil && e.live(st.now) {
		return "", nil
	}
	return rec.dedupeKey, st.takeDedupe(rec.name, rec.dedupeKey, rec.id, rec.job, driver.Opt[driver.Millis]{})
}

// freeDedupe frees the job's key without ttl, if it still owns it; a window stays.
func (t *tx) freeDedupe(rec *record) error {
	if rec.dedupeKey == "" {
		return nil
	}
	_, err := t.exec("dedupe_free", rec.name, rec.dedupeKey, rec.job)
	return err
}

// CancelByDedupe implements [driver.Producer].
func (s *Store) CancelByDedupe(ctx context.Context, now driver.Time, name, key string) (bool, error) {
	var cancelled bool
	err := s.write(ctx, "CancelByDedupe", 1, func(t *tx) error {
		cancelled = false
		st := newStep(t, now, 1)
		e, err := st.dedupeEntry(name, key)
		if err != nil || e == nil || e.rec == nil || !e.live(now) {
			return err
		}
		switch e.rec.state {
		case driver.Waiting, driver.Delayed, driver.WaitingChildren:
			cancelled = true
			_, err = st.cancel(e.rec)
		}
		return err
	})
	return cancelled && err == nil, err
}

// SweepDedupe implements [driver.Sweeper].
func (s *Store) SweepDedupe(ctx context.Context, now driver.Time, limit int) (driver.SweepResult, error) {
	return s.sweep(ctx, "SweepDedupe", limit, func(t *tx, most int) (int, bool, error) {
		deleted, err := t.affect("dedupe_sweep", now, most)
		if err != nil {
			return 0, false, err
		}
		more, err := first(t, "dedupe_expired", func(row) {}, now)
		return int(deleted), more, err
	})
}
