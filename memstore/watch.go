package memstore

import (
	"context"
	"sync"

	"github.com/braidmq/braid/driver"
)

// finishWatch is one call of WatchFinished.
type finishWatch struct {
	ended chan driver.Finished // holds one value
}

// WatchFinished implements [driver.FinishWatcher].
func (s *Store) WatchFinished(ctx context.Context, id string) (<-chan driver.Finished, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	w := &finishWatch{ended: make(chan driver.Finished, 1)}
	if s.finished[id] == nil {
		s.finished[id] = map[*finishWatch]struct{}{}
	}
	s.finished[id][w] = struct{}{}
	context.AfterFunc(ctx, func() { s.endFinishWatch(id, w) })
	return w.ended, nil
}

// announceEnd tells the job's watchers how it ended, and ends their watches.
func (s *Store) announceEnd(end driver.Finished) {
	if len(s.finished) == 0 {
		return
	}
	for w := range s.finished[end.ID] {
		w.ended <- end
		close(w.ended)
	}
	delete(s.finished, end.ID)
}

// endFinishWatch ends one watch, if nothing else has.
func (s *Store) endFinishWatch(id string, w *finishWatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, watching := s.finished[id][w]; !watching {
		return
	}
	close(w.ended)
	delete(s.finished[id], w)
	if len(s.finished[id]) == 0 {
		delete(s.finished, id)
	}
}

// endFinishWatches ends all watches.
func (s *Store) endFinishWatches() {
	for _, watches := range s.finished {
		for w := range watches {
			close(w.ended)
		}
	}
	clear(s.finished)
}

// cancelWatch is one call of WatchCancels: what it still has to deliver.
type cancelWatch struct {
	mu      sync.Mutex
	pending []string
	some    chan struct{} // holds a token while pending is not empty
}

// WatchCancels implements [driver.CancelWatcher].
func (s *Store) WatchCancels(ctx context.Context, deliver func(id string)) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	w := &cancelWatch{some: make(chan struct{}, 1)}
	s.cancels[w] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.cancels, w)
		s.mu.Unlock()
	}()
	for {
		select {
		case <-w.some:
			for _, id := range w.take() {
				deliver(id)
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-s.done:
			return driver.ErrClosed
		}
	}
}

// announceCancel tells the watchers of a job whose cancel was requested.
func (s *Store) announceCancel(id string) {
	for w := range s.cancels {
		w.put(id)
	}
}

func (w *cancelWatch) put(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending = append(w.pending, id)
	select {
	case w.some <- struct{}{}:
	default:
	}
}

func (w *cancelWatch) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := w.pending
	w.pending = nil
	return ids
}
