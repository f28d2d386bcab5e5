package redisstore

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/storekit"
)

const (
	// listenPing is how long the connection may be silent before it is asked for a sign
	// of life, and how long the answer may take until it is given up.
	listenPing = 15 * time.Second
	// The pause between two tries to connect doubles from the first to the last.
	firstPause = 20 * time.Millisecond
	lastPause  = 2 * time.Second
)

// listener is the connection over which the server pushes: one per Store, made when
// something is waited for the first time, made again whenever it is lost, ended by
// Close. What was pushed while it was lost is gone, so everybody who waits is told
// that: queues count as woken, watches of single jobs end.
type listener struct {
	store *Store
	id    string // names this listener's channel of ended jobs; 16 bytes

	mu       sync.Mutex // guards everything below
	pubsub   *redis.PubSub
	channels map[string]*channel
	waiters  map[string]map[*waiter]struct{}      // by channel of a queue
	finished map[string]map[*finishWatch]struct{} // by job id
	cancels  storekit.CancelWatches

	ctx   context.Context
	end   context.CancelFunc
	tasks sync.WaitGroup // what Close waits for
}

// channel is one channel to listen to.
type channel struct {
	// ready is closed once the server has confirmed the subscription on the present
	// connection.
	ready     chan struct{}
	confirmed bool
}

func newListener(s *Store) *listener {
	var id [8]byte
	_, _ = rand.Read(id[:])
	l := &listener{
		store: s, id: hex.EncodeToString(id[:]),
		channels: map[string]*channel{},
		waiters:  map[string]map[*waiter]struct{}{},
		finished: map[string]map[*finishWatch]struct{}{},
	}
	l.ctx, l.end = context.WithCancel(context.Background())
	return l
}

// subscribe returns when all channels are listened to.
func (l *listener) subscribe(ctx context.Context, names ...string) error {
	for _, name := range names {
		for {
			ready := l.open(name)
			select {
			case <-ready:
			case <-ctx.Done():
				return ctx.Err()
			case <-l.store.done:
				return driver.ErrClosed
			}
			if l.confirmed(name) {
				break
			}
		}
	}
	return nil
}

// open subscribes to a channel, unless that was done, and returns what will be closed
// when the subscription holds.
func (l *listener) open(name string) <-chan struct{} {
	l.mu.Lock()
	c, known := l.channels[name]
	if !known {
		c = &channel{ready: make(chan struct{})}
		l.channels[name] = c
		if len(l.channels) == 1 && l.ctx.Err() == nil {
			l.tasks.Go(l.listen)
		}
	}
	pubsub, ready := l.pubsub, c.ready
	l.mu.Unlock()
	if !known && pubsub != nil {
		// A failure shows in the receiving loop, which then subscribes anew.
		_ = l.add(pubsub, name)
	}
	return ready
}

func (l *listener) confirmed(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.channels[name].confirmed
}

// add subscribes to further channels on a connection.
func (l *listener) add(pubsub *redis.PubSub, names ...string) error {
	if l.store.sharded {
		return pubsub.SSubscribe(l.ctx, names...)
	}
	return pubsub.Subscribe(l.ctx, names...)
}

// listen keeps a connection until Close.
func (l *listener) listen() {
	pause := firstPause
	for first := true; l.ctx.Err() == nil; first = false {
		pubsub := l.connect()
		began := time.Now()
		err := l.receive(pubsub, !first)
		l.disconnect()
		_ = pubsub.Close()
		if l.ctx.Err() != nil {
			return
		}
		if time.Since(began) > lastPause {
			pause = firstPause
		}
		if pause == firstPause {
			l.store.logger.Warn("braid: the connection that wakes workers is lost; making it again", "error", err)
		}
		select {
		case <-time.After(pause):
		case <-l.ctx.Done():
		}
		pause = min(2*pause, lastPause)
	}
}

// connect begins to subscribe to all channels.
func (l *listener) connect() *redis.PubSub {
	names := l.names(nil)
	var pubsub *redis.PubSub
	if l.store.sharded {
		pubsub = l.store.client.SSubscribe(l.ctx, names...)
	} else {
		pubsub = l.store.client.Subscribe(l.ctx, names...)
	}
	// What was opened meanwhile has not seen this connection.
	l.mu.Lock()
	l.pubsub = pubsub
	closed := l.ctx.Err() != nil
	l.mu.Unlock()
	if closed {
		_ = pubsub.Close()
	} else if missing := l.names(names); len(missing) > 0 {
		_ = l.add(pubsub, missing...)
	}
	return pubsub
}

// names returns the channels to listen to, but for some.
func (l *listener) names(but []string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for name := range l.channels {
		if !slices.Contains(but, name) {
			names = append(names, name)
		}
	}
	return names
}

// disconnect takes back what the lost connection had confirmed, and ends what cannot
// be watched over the gap.
func (l *listener) disconnect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pubsub = nil
	for _, c := range l.channels {
		if c.confirmed {
			c.confirmed, c.ready = false, make(chan struct{})
		}
	}
	l.endFinishWatches()
}

// receive hands on what is pushed, until the connection fails. After a gap it wakes
// everybody as soon as all subscriptions hold.
func (l *listener) receive(pubsub *redis.PubSub, gap bool) error {
	silent := false
	for {
		message, err := pubsub.ReceiveTimeout(l.ctx, listenPing)
		switch message := message.(type) {
		case *redis.Subscription:
			if l.confirm(message.Channel) && gap {
				gap = false
				l.wakeAll()
			}
		case *redis.Message:
			l.deliver(message.Channel, message.Payload)
		}
		switch {
		case err == nil:
			silent = false
		case !isTimeout(err) || silent:
			return err
		default:
			silent = true
			if err := pubsub.Ping(l.ctx); err != nil {
				return err
			}
		}
	}
}

// confirm notes that a subscription holds, and reports whether all do.
func (l *listener) confirm(name string) (all bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.channels[name]; c != nil && !c.confirmed {
		c.confirmed = true
		close(c.ready)
	}
	for _, c := range l.channels {
		if !c.confirmed {
			return false
		}
	}
	return true
}

// deliver hands on one message.
func (l *listener) deliver(name, payload string) {
	keys := l.store.keys
	switch {
	case name == keys.key("CANCEL"):
		l.cancels.Announce(payload)
	case name == keys.key("END", l.id):
		l.deliverEnd(payload)
	case strings.HasPrefix(name, keys.key("WAKE")):
		l.deliverWake(name, payload)
	}
}

// close ends the connection and all waits. It returns when nothing runs any more.
func (l *listener) close() {
	l.mu.Lock()
	l.end()
	pubsub := l.pubsub
	l.endFinishWatches()
	l.mu.Unlock()
	if pubsub != nil {
		_ = pubsub.Close()
	}
	l.tasks.Wait()
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
