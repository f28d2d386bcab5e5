package pgstore

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
)

// dedupeKey is a dedup key within its scope.
type dedupeKey struct{ name, key string }

// dedupeEntry says which job a key belongs to. It is locked until the transaction ends,
// unless it merely holds.
type dedupeEntry struct {
	id        string // empty: nobody has taken the key yet
	owned     bool   // whether that job is there
	expiresAt driver.Opt[driver.Time]
	state     driver.State // of the job, as it was loaded
	parked    bool         // whether the job has a manifest

	// What the transaction makes of it.
	changed  bool
	inserted int // the item of the batch that has taken it; -1: none
}

// holds reports whether the entry holds its key at now. recs are the jobs that the
// transaction itself changes.
func (e *dedupeEntry) holds(now driver.Time, recs records) bool {
	if end, window := e.expiresAt.Get(); window {
		return now < end
	}
	if e.inserted >= 0 {
		return true
	}
	if !e.owned {
		return false
	}
	if rec := recs[e.id]; rec != nil {
		return !rec.deleted && !rec.state.Terminal()
	}
	return e.state != 0 && !e.state.Terminal()
}

// dedupeRaces is how often the entries of keys may vanish, or stop holding, between the
// statements that make, lock and read them.
const dedupeRaces = 20

// keyUse is what an item wants to do with a key that holds, beside learning whose it is.
type keyUse struct{ replaces, extends bool }

// lockKeys loads the entries of keys, and makes those that are not there. It locks, in
// order, those that the uses may change: who has one of them uncommitted is waited for.
func (t *tx) lockKeys(uses map[dedupeKey]keyUse) (map[dedupeKey]*dedupeEntry, error) {
	keys := slices.SortedFunc(maps.Keys(uses), func(a, b dedupeKey) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.key, b.key))
	})
	n := len(keys)
	names, texts, replaces, extends := make([]string, n), make([]string, n), make([]bool, n), make([]bool, n)
	for i, k := range keys {
		names[i], texts[i], replaces[i], extends[i] = k.name, k.key, uses[k].replaces, uses[k].extends
	}
	for range dedupeRaces {
		entries, locked := make(map[dedupeKey]*dedupeEntry, n), make(map[dedupeKey]bool, n)
		t.exec("dedupe_reserve", names, texts)
		t.query("dedupe_lock", func(rows pgx.Rows) error {
			var k dedupeKey
			err := rows.Scan(&k.name, &k.key)
			locked[k] = true
			return err
		}, names, texts, replaces, extends, t.now)
		t.query("dedupe_look", func(rows pgx.Rows) error {
			e := &dedupeEntry{inserted: -1}
			var k dedupeKey
			var expiresAt *int64
			var state *int16
			err := rows.Scan(&k.name, &k.key, &e.id, &e.owned, &expiresAt, &state, &e.parked)
			e.expiresAt, e.state = timeOf(expiresAt), driver.State(orZero(state)) //nolint:gosec // a state
			entries[k] = e
			return err
		}, names, texts)
		if err := t.send(); err != nil {
			return nil, err
		}
		complete := len(entries) == n
		for k, e := range entries {
			complete = complete && (locked[k] || !e.mayChange(t.now, uses[k]))
		}
		if complete {
			return entries, nil
		}
	}
	return nil, errCollision
}

// mayChange reports whether a use may change the entry, or the job that it names.
func (e *dedupeEntry) mayChange(now driver.Time, use keyUse) bool {
	_, window := e.expiresAt.Get()
	return !e.holds(now, nil) || use.extends && window || use.replaces && e.replaceable()
}

// replaceable reports whether a dedup replace may rewrite the entry's job.
func (e *dedupeEntry) replaceable() bool {
	return e.owned && e.state == driver.Delayed && !e.parked
}

// saveKeys queues what became of locked entries; those that nobody has taken go.
func (t *tx) saveKeys(entries map[dedupeKey]*dedupeEntry) {
	var unusedNames, unusedKeys, names, keys, ids []string
	var expires []*int64
	var owned []bool
	for k, e := range entries {
		switch {
		case e.changed:
			names, keys, ids = append(names, k.name), append(keys, k.key), append(ids, e.id)
			expires, owned = append(expires, optionalTime(e.expiresAt)), append(owned, e.owned)
		case e.id == "":
			unusedNames, unusedKeys = append(unusedNames, k.name), append(unusedKeys, k.key)
		}
	}
	if len(names) > 0 {
		t.exec("dedupe_save", names, keys, ids, expires, owned)
	}
	if len(unusedNames) > 0 {
		t.exec("dedupe_drop_unused", unusedNames, unusedKeys)
	}
}

// freeDedupe frees a job's key without window, if it still owns it; a window stays.
func (t *tx) freeDedupe(rec *record) {
	if rec.dedupeKey != "" && !rec.dedupeTTL {
		t.frees = append(t.frees, rec)
	}
}

func (t *tx) flushDedupe() {
	split := func(recs []*record) (names, keys, ids []string) {
		for _, rec := range recs {
			names, keys, ids = append(names, rec.name), append(keys, rec.dedupeKey), append(ids, rec.id)
		}
		return names, keys, ids
	}
	t.saveKeys(t.locked)
	if len(t.frees) > 0 {
		names, keys, ids := split(t.frees)
		t.exec("dedupe_free", names, keys, ids)
	}
	if len(t.forgets) > 0 {
		names, keys, ids := split(t.forgets)
		t.exec("dedupe_forget", names, keys, ids)
	}
}

// CancelByDedupe implements [driver.Producer].
func (s *Store) CancelByDedupe(ctx context.Context, now driver.Time, name, key string) (bool, error) {
	var cancelled bool
	err := s.transact(ctx, "CancelByDedupe", now, func(t *tx) error {
		cancelled = false
		trims := 1 + trimsBeyondBatch
		t.trims = &trims
		// The job is locked before its key, as in every end of a job; so whose the key is
		// must be asked again.
		id, err := t.keyOwner(name, key)
		if err != nil || id == "" {
			return err
		}
		recs, err := t.load([]string{id})
		if err != nil {
			return err
		}
		again, err := t.keyOwner(name, key)
		if err != nil {
			return err
		}
		if again != id {
			return errCollision
		}
		rec := recs[id]
		if rec == nil {
			return nil
		}
		switch rec.state {
		case driver.Waiting, driver.Delayed, driver.WaitingChildren:
			cancelled = true
			if _, err := t.cancel(rec); err != nil {
				return err
			}
			t.flush()
		}
		return nil
	})
	return cancelled && err == nil, err
}

// keyOwner returns the id of the job that holds a key at now, "" if none does.
func (t *tx) keyOwner(name, key string) (id string, err error) {
	t.scan("dedupe_owner", nil, []any{&id}, name, key, t.now)
	return id, t.send()
}

// SweepDedupe implements [driver.Sweeper].
func (s *Store) SweepDedupe(ctx context.Context, now driver.Time, limit int) (driver.SweepResult, error) {
	return s.sweep(ctx, "SweepDedupe", now, limit, func(t *tx, most int) (deleted int, more bool, err error) {
		var n int64
		t.affect("dedupe_sweep", &n, now, most)
		t.scan("dedupe_expired", &more, []any{new(int)}, now)
		err = t.send()
		return int(n), more, err
	})
}
