package pgstore

import (
	"context"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
)

// A watch is a row that says who waits for which job. Whatever ends the job writes the
// outcome into the row, in the same step, and tells the process of the row once that is
// committed; the process fetches the outcome and deletes the row. So outcomes of any size
// survive a lost notification, and the job.

// finishWatch is one call of WatchFinished.
type finishWatch struct {
	ended chan driver.Finished // holds one value
}

// toldWatch is a watch whose row has got its outcome.
type toldWatch struct {
	watch    int64
	listener string
	end      driver.Finished
}

// readTold takes a row of a statement that writes outcomes.
func (t *tx) readTold(rows pgx.Rows) error {
	var w toldWatch
	var state int16
	var exit, reason *string
	var attempts *int32
	err := rows.Scan(&w.watch, &w.listener, &w.end.ID, &state, &exit, &reason, &attempts)
	w.end.State, w.end.Exit = driver.State(state), bytesOf(exit) //nolint:gosec // a state
	w.end.FailedReason, w.end.AttemptsMade = orZero(reason), orZero(attempts)
	t.told = append(t.told, w)
	return err
}

// flushEnds queues the outcomes of jobs for those who wait.
func (t *tx) flushEnds() {
	if len(t.ended) > 0 {
		t.query("watches_end", t.readTold, t.ended, t.now)
	}
	if len(t.gone) == 0 {
		return
	}
	var ids []string
	var states []int16
	var exits, reasons []*string
	var attempts []int32
	seen := map[string]bool{}
	for _, end := range t.gone {
		if seen[end.ID] {
			continue
		}
		seen[end.ID] = true
		ids, states = append(ids, end.ID), append(states, int16(end.State))
		exits, reasons = append(exits, optionalBytes(end.Exit)), append(reasons, optional(end.FailedReason))
		attempts = append(attempts, end.AttemptsMade)
	}
	t.query("watches_tell", t.readTold, ids, states, exits, reasons, attempts, t.now)
}

// WatchFinished implements [driver.FinishWatcher].
func (s *Store) WatchFinished(ctx context.Context, id string) (<-chan driver.Finished, error) {
	if err := s.serves(ctx); err != nil {
		return nil, err
	}
	h := s.hub
	if err := h.listen(ctx); err != nil {
		return nil, err
	}
	w := &finishWatch{ended: make(chan driver.Finished, 1)}
	watch := rand.Int64()
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil, driver.ErrClosed
	}
	h.finished[watch] = w
	h.mu.Unlock()
	err := s.pipeline(ctx, "WatchFinished", 0, func(t *tx) { t.exec("watch_insert", watch, h.id, id) })
	if err == nil {
		// What ends the job while it does not see the row yet holds the job's lock.
		err = s.pipeline(ctx, "WatchFinished", 0, func(t *tx) { t.exec("watch_await", id) })
	}
	if err != nil {
		h.dropFinishWatch(watch)
		return nil, err
	}
	context.AfterFunc(ctx, func() { h.dropFinishWatch(watch) })
	h.listener.attend()
	return w.ended, nil
}

// announceEnd tells a watch how its job ended, and ends it. The mutex is held.
func (h *hub) announceEnd(watch int64, end driver.Finished) {
	if w := h.finished[watch]; w != nil {
		w.ended <- end
		h.endFinishWatch(watch)
	}
	h.notifier.forget(watch)
}

// endFinishWatch ends a watch. The mutex is held.
func (h *hub) endFinishWatch(watch int64) {
	if w := h.finished[watch]; w != nil {
		close(w.ended)
		delete(h.finished, watch)
	}
}

// dropFinishWatch ends a watch that nobody needs any more, if nothing else has.
func (h *hub) dropFinishWatch(watch int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.finished[watch] != nil {
		h.endFinishWatch(watch)
		h.notifier.forget(watch)
	}
}

// WatchCancels implements [driver.CancelWatcher].
func (s *Store) WatchCancels(ctx context.Context, deliver func(id string)) error {
	if err := s.serves(ctx); err != nil {
		return err
	}
	h := s.hub
	if err := h.listen(ctx); err != nil {
		return err
	}
	w := h.cancels.Enter()
	defer w.Leave()
	h.listener.attend()
	return w.Deliver(ctx, s.closing, deliver)
}
