package sqlitestore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

// watchedJob is a job whose end is watched.
type watchedJob struct {
	watches map[*finishWatch]struct{}
	existed bool // whether the poll has seen it
}

// finishWatch is one call of WatchFinished.
type finishWatch struct {
	ended chan driver.Finished // holds one value
}

// WatchFinished implements [driver.FinishWatcher]. An end in this process is
// delivered at once. One in another process is delivered by the poll; if that
// process's retention removed the job at once, the channel is closed without a
// value.
func (s *Store) WatchFinished(ctx context.Context, id string) (<-chan driver.Finished, error) {
	if err := s.serves(ctx); err != nil {
		return nil, err
	}
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, driver.ErrClosed
	}
	w := &finishWatch{ended: make(chan driver.Finished, 1)}
	job := h.finished[id]
	if job == nil {
		job = &watchedJob{watches: map[*finishWatch]struct{}{}}
		h.finished[id] = job
	}
	job.watches[w] = struct{}{}
	h.foreign.Store(true) // the poll takes a first look at it
	h.enter()
	context.AfterFunc(ctx, func() { h.endFinishWatch(id, w) })
	return w.ended, nil
}

// announceEnd tells the job's watchers how it ended, and ends their watches.
func (h *hub) announceEnd(end driver.Finished) {
	job := h.finished[end.ID]
	if job == nil {
		return
	}
	for w := range job.watches {
		w.ended <- end
	}
	h.endFinishWatchesOf(end.ID)
}

// endFinishWatchesOf ends the watches of one job.
func (h *hub) endFinishWatchesOf(id string) {
	for w := range h.finished[id].watches {
		close(w.ended)
		h.waiting--
	}
	delete(h.finished, id)
}

// endFinishWatch ends one watch, if nothing else has.
func (h *hub) endFinishWatch(id string, w *finishWatch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	job := h.finished[id]
	if job == nil {
		return
	}
	if _, watching := job.watches[w]; !watching {
		return
	}
	close(w.ended)
	h.waiting--
	delete(job.watches, w)
	if len(job.watches) == 0 {
		delete(h.finished, id)
	}
}

// endFinishWatches ends all watches.
func (h *hub) endFinishWatches() {
	for id := range h.finished {
		h.endFinishWatchesOf(id)
	}
}

// WatchCancels implements [driver.CancelWatcher].
func (s *Store) WatchCancels(ctx context.Context, deliver func(id string)) error {
	if err := s.serves(ctx); err != nil {
		return err
	}
	h := s.hub
	w := h.cancels.Enter()
	defer w.Leave()
	h.mu.Lock()
	h.enter()
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		h.waiting--
		h.mu.Unlock()
	}()
	return w.Deliver(ctx, s.closing, deliver)
}
