package pgstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
)

const (
	// probeInterval is how long the listening connection may be silent before the process
	// asks itself, through the database, whether it hears.
	probeInterval = 15 * time.Second
	// probeTimeout is how long the answer may take.
	probeTimeout = 3 * time.Second
	// connectTimeout bounds the making of the connection.
	connectTimeout = 5 * time.Second
	// firstWait is how long the first call that wants to be woken waits for the connection.
	firstWait = 3 * time.Second
	// The pause between two tries to connect doubles from the first to the last. A
	// connection that hears nothing, as behind a transaction pooler, is tried after deafPause.
	firstPause = 20 * time.Millisecond
	lastPause  = 2 * time.Second
	deafPause  = 30 * time.Second
	// pollInterval is how often outcomes and cancels are looked for while nothing is heard.
	pollInterval = 250 * time.Millisecond
)

// errDeaf is that notifications do not arrive, though the connection stands.
var errDeaf = errors.New("notifications do not arrive; behind a transaction pooler that is to be expected")

// listener hears what other processes commit: over one connection, made when something
// is waited for the first time, made again whenever it is lost or does not hear, ended by
// Close. While it does not hear, it polls for outcomes and cancels, and workers poll for
// work.
type listener struct {
	hub *hub

	once    sync.Once
	tried   chan struct{} // closed when the first try has succeeded or failed
	ctx     context.Context
	end     context.CancelFunc
	tasks   sync.WaitGroup
	closing sync.Mutex // held while tasks are begun

	mu      sync.Mutex
	hears   bool
	polling bool
}

func (l *listener) init() {
	l.tried = make(chan struct{})
	l.ctx, l.end = context.WithCancel(context.Background())
}

// listen returns when notifications are heard, or cannot be for now.
func (h *hub) listen(ctx context.Context) error {
	l := &h.listener
	if h.store.noListen {
		return h.store.serves(ctx)
	}
	l.once.Do(func() { l.begin(l.run) })
	select {
	case <-l.tried:
		return h.store.serves(ctx)
	default:
	}
	timer := time.NewTimer(firstWait)
	defer timer.Stop()
	select {
	case <-l.tried:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	case <-h.store.closing:
		return driver.ErrClosed
	}
	return h.store.serves(ctx)
}

// begin starts a goroutine that close waits for.
func (l *listener) begin(task func()) {
	l.closing.Lock()
	defer l.closing.Unlock()
	if l.ctx.Err() == nil {
		l.tasks.Go(task)
	}
}

func (l *listener) close() {
	l.closing.Lock()
	l.end()
	l.closing.Unlock()
	l.tasks.Wait()
}

// run keeps a connection until Close.
func (l *listener) run() {
	var tried sync.Once
	done := func() { tried.Do(func() { close(l.tried) }) }
	defer done()
	pause, warned := firstPause, false
	for l.ctx.Err() == nil {
		began := time.Now()
		err := l.hear(func() {
			warned = false
			done()
		})
		l.setHears(false)
		done()
		if l.ctx.Err() != nil {
			return
		}
		l.attend()
		if !warned {
			l.hub.store.logger.Warn("braid: notifications are not heard; polling until they are", "error", err)
			warned = true
		}
		switch {
		case errors.Is(err, errDeaf):
			pause = deafPause
		case time.Since(began) > lastPause:
			pause = firstPause
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-l.ctx.Done():
			timer.Stop()
		}
		pause = min(2*pause, max(lastPause, pause))
	}
}

// hear makes a connection and hands on what arrives, until it is lost. It calls ready
// when it is known that notifications arrive.
func (l *listener) hear(ready func()) error {
	conn, err := l.connect()
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	probe, heard := l.probe, false
	for {
		if err := probe(); err != nil {
			return err
		}
		deadline := probeTimeout
		for {
			note, err := l.next(conn, deadline)
			switch {
			case errors.Is(err, context.DeadlineExceeded) && l.ctx.Err() == nil && deadline == probeTimeout:
				return errDeaf
			case errors.Is(err, context.DeadlineExceeded) && l.ctx.Err() == nil:
			case err != nil:
				return err
			default:
				if !heard {
					heard = true
					l.catchUp()
					ready()
				}
				l.deliver(note)
				deadline = probeInterval
				continue
			}
			break
		}
	}
}

// connect makes a connection as the pool does, and listens.
func (l *listener) connect() (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(l.ctx, connectTimeout)
	defer cancel()
	config := l.hub.store.pool.Config()
	if config.BeforeConnect != nil {
		if err := config.BeforeConnect(ctx, config.ConnConfig); err != nil {
			return nil, err
		}
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "LISTEN "+quoteName(l.hub.store.channel()), pgx.QueryExecModeSimpleProtocol); err != nil {
		_ = conn.Close(ctx)
		return nil, err
	}
	return conn, nil
}

// probe sends a notification to itself, over another connection.
func (l *listener) probe() error {
	ctx, cancel := context.WithTimeout(l.ctx, notifyTimeout)
	defer cancel()
	s := l.hub.store
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	t := newTx(ctx, s, conn, 0)
	t.exec("notify", s.channel(), []string{string(noteProbe) + l.hub.id})
	return t.send()
}

// next waits for a notification.
func (l *listener) next(conn *pgx.Conn, timeout time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(l.ctx, timeout)
	defer cancel()
	note, err := conn.WaitForNotification(ctx)
	if err != nil {
		return "", err
	}
	return note.Payload, nil
}

// catchUp deals with what happened while nothing was heard.
func (l *listener) catchUp() {
	h := l.hub
	l.setHears(true)
	h.wakeAll()
	_ = l.fetch(true)
}

func (l *listener) setHears(hears bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hears = hears
}

// deliver hands on one notification.
func (l *listener) deliver(note string) {
	if len(note) < 1+len(fromTransaction) {
		return
	}
	h := l.hub
	kind, sender, what := note[0], note[1:1+len(fromTransaction)], note[1+len(fromTransaction):]
	switch kind {
	case noteWake:
		if sender != h.id {
			h.mu.Lock()
			h.wake(what)
			h.mu.Unlock()
		}
	case noteCancel:
		if sender != h.id {
			h.mu.Lock()
			h.cancels.Announce(what)
			h.mu.Unlock()
		}
	case noteEnd:
		if sender == h.id {
			l.begin(func() { _ = l.fetch(false) })
		}
	}
}

// fetch reads the outcomes that lie ready for this process. With check, watches whose
// rows are gone end without one.
func (l *listener) fetch(check bool) error {
	h := l.hub
	ctx, cancel := context.WithTimeout(l.ctx, notifyTimeout)
	defer cancel()
	var open []int64
	h.mu.Lock()
	for watch := range h.finished {
		open = append(open, watch)
	}
	h.mu.Unlock()
	if len(open) == 0 {
		return nil
	}
	known := map[int64]bool{}
	var told []toldWatch
	err := h.store.pipeline(ctx, "WatchFinished", 0, func(t *tx) {
		t.query("watches_fetch", t.readTold, h.id)
		t.query("watches_known", func(rows pgx.Rows) error {
			var watch int64
			err := rows.Scan(&watch)
			known[watch] = true
			return err
		}, open)
		t.settled = func() { told, t.told = t.told, nil }
	})
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range told {
		h.announceEnd(w.watch, w.end)
	}
	for _, watch := range open {
		if check && !known[watch] {
			h.endFinishWatch(watch)
		}
	}
	return nil
}

// attend sees that outcomes and cancels are polled for while they are not heard.
func (l *listener) attend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hears || l.polling {
		return
	}
	l.polling = true
	l.begin(l.poll)
}

// poll looks for outcomes and cancels until they are heard, or nobody waits.
func (l *listener) poll() {
	told := map[string]bool{}
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-l.ctx.Done():
			return
		}
		h := l.hub
		h.mu.Lock()
		ends, cancels := len(h.finished) > 0, h.cancels.Any()
		h.mu.Unlock()
		l.mu.Lock()
		if l.polling = !l.hears && (ends || cancels); !l.polling {
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		if ends {
			_ = l.fetch(false)
		}
		if cancels {
			told = l.pollCancels(told)
		}
	}
}

// pollCancels delivers the cancel requests that were not delivered yet.
func (l *listener) pollCancels(told map[string]bool) map[string]bool {
	ctx, cancel := context.WithTimeout(l.ctx, notifyTimeout)
	defer cancel()
	h := l.hub
	requested := map[string]bool{}
	err := h.store.pipeline(ctx, "WatchCancels", 0, func(t *tx) {
		t.query("cancels_requested", func(rows pgx.Rows) error {
			var id string
			err := rows.Scan(&id)
			requested[id] = true
			return err
		})
	})
	if err != nil {
		return told
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for id := range requested {
		if !told[id] {
			h.cancels.Announce(id)
		}
	}
	return requested
}
