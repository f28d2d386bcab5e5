package redisstore

import (
	"context"
	"time"

	"github.com/braidmq/braid/driver"
)

var watchScript = loadScript("watch")

var (
	_ driver.FinishWatcher = (*Store)(nil)
	_ driver.CancelWatcher = (*Store)(nil)
)

// unwatchTimeout is how long the store tries to take back a watch that nobody needs.
const unwatchTimeout = 5 * time.Second

// finishWatch is one call of WatchFinished.
type finishWatch struct {
	ended chan driver.Finished // holds one value
}

// WatchFinished implements [driver.FinishWatcher]. Acks of jobs that nobody watches
// publish nothing.
func (s *Store) WatchFinished(ctx context.Context, id string) (<-chan driver.Finished, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	l := s.listener
	w := &finishWatch{ended: make(chan driver.Finished, 1)}
	if err := l.subscribe(ctx, s.keys.key("END", l.id)); err != nil {
		return nil, err
	}
	l.mu.Lock()
	if l.finished[id] == nil {
		l.finished[id] = map[*finishWatch]struct{}{}
	}
	l.finished[id][w] = struct{}{}
	l.mu.Unlock()
	if _, err := s.run(ctx, "WatchFinished", call{script: watchScript, args: []any{l.id, "1", id}}); err != nil {
		l.endFinishWatch(id, w)
		return nil, err
	}
	context.AfterFunc(ctx, func() { l.endFinishWatch(id, w) })
	return w.ended, nil
}

// deliverEnd tells a job's watchers how it ended, and ends their watches. Its message
// is what announce_end of lib/watch.lua packs.
func (l *listener) deliverEnd(payload string) {
	u := unpacker{rest: payload}
	end := driver.Finished{State: driver.State(u.byte()), AttemptsMade: u.int32(), ID: u.text(2), FailedReason: u.text(2)}
	if u.bad {
		return
	}
	if u.rest != "" {
		end.Exit = []byte(u.rest)
	}
	if end.State == 0 {
		end.AttemptsMade = 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for w := range l.finished[end.ID] {
		w.ended <- end
		close(w.ended)
	}
	delete(l.finished, end.ID)
}

// endFinishWatch ends one watch, if nothing else has, and tells the server when it was
// the job's last.
func (l *listener) endFinishWatch(id string, w *finishWatch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, watching := l.finished[id][w]; !watching {
		return
	}
	close(w.ended)
	delete(l.finished[id], w)
	if len(l.finished[id]) > 0 || l.ctx.Err() != nil {
		return
	}
	delete(l.finished, id)
	l.tasks.Go(func() { l.unwatch(id) })
}

// unwatch takes a job's watch back from the server, unless it is watched anew.
func (l *listener) unwatch(id string) {
	ctx, cancel := context.WithTimeout(l.ctx, unwatchTimeout)
	defer cancel()
	_, _ = l.store.run(ctx, "WatchFinished", call{script: watchScript, args: []any{l.id, "0", id}})
	l.mu.Lock()
	again := len(l.finished[id]) > 0
	l.mu.Unlock()
	if again {
		_, _ = l.store.run(ctx, "WatchFinished", call{script: watchScript, args: []any{l.id, "1", id}})
	}
}

// endFinishWatches ends all watches. The mutex is held.
func (l *listener) endFinishWatches() {
	for _, watches := range l.finished {
		for w := range watches {
			close(w.ended)
		}
	}
	clear(l.finished)
}

// WatchCancels implements [driver.CancelWatcher].
func (s *Store) WatchCancels(ctx context.Context, deliver func(id string)) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	l := s.listener
	w := l.cancels.Enter()
	defer w.Leave()
	if err := l.subscribe(ctx, s.keys.key("CANCEL")); err != nil {
		return err
	}
	return w.Deliver(ctx, s.done, deliver)
}
