package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/braidmq/braid"
)

// The stream of events tells the queues: the first event all of them, each further one
// those that have changed. A poll that finds nothing new sends nothing.

// QueuesEvent is the data of an event named queues.
type QueuesEvent struct {
	Queues  []Queue      `json:"queues" doc:"In the first event all of them, then those that have changed."`
	Removed []string     `json:"removed,omitempty" doc:"Names of queues that are no more."`
	Total   braid.Counts `json:"total" doc:"Of the whole store."`
}

const (
	keepAlive      = 15 * time.Second // of a silent stream
	writePatience  = 10 * time.Second // for a listener that does not read
	listenerBuffer = 16               // events that a slow listener may be behind
)

func streamEvents(c *call) (any, error) {
	feed := c.h.feeds.get(c.h, c.client)
	events, leave := feed.join()
	defer leave()
	c.answered = true
	header := c.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no")
	c.w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(c.w)
	send := func(data []byte) bool {
		_ = control.SetWriteDeadline(time.Now().Add(writePatience)) // not every writer has deadlines
		_, err := c.w.Write(data)
		return err == nil && control.Flush() == nil
	}
	if !send([]byte("retry: 2000\n\n")) {
		return nil, nil
	}
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	for {
		select {
		case event, ok := <-events:
			if !ok || !send(event) { // too slow: it connects again, and gets everything
				return nil, nil
			}
		case <-alive.C:
			if !send([]byte(": alive\n\n")) {
				return nil, nil
			}
		case <-c.h.draining.Done():
			return nil, nil
		case <-c.ctx.Done():
			return nil, nil
		}
	}
}

// feeds are the feeds of the stores, by name. A feed stays once it is there; it polls
// while somebody listens.
type feeds struct {
	mu     sync.Mutex
	byName map[string]*feed
}

func (f *feeds) get(h *Handler, client *braid.Client) *feed {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byName == nil {
		f.byName = make(map[string]*feed)
	}
	name := client.StoreName()
	if f.byName[name] == nil {
		f.byName[name] = &feed{h: h, client: client, listeners: make(map[chan []byte]struct{})}
	}
	return f.byName[name]
}

// feed polls one store for all of its listeners.
type feed struct {
	h      *Handler
	client *braid.Client

	mu        sync.Mutex
	listeners map[chan []byte]struct{}
	stop      context.CancelFunc // of the poll that runs
	polled    chan struct{}      // closed when that poll has ended
	last      map[string]Queue   // what the listeners know; nil: nothing yet
	total     braid.Counts
}

// join adds a listener, and begins to poll for the first one. The channel is closed
// when the listener does not keep up. leave ends the poll with the last one.
func (f *feed) join() (events <-chan []byte, leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	listener := make(chan []byte, listenerBuffer)
	if f.last != nil {
		listener <- f.everything()
	}
	f.listeners[listener] = struct{}{}
	if f.stop == nil {
		ctx, cancel := context.WithCancel(context.Background())
		f.stop, f.polled = cancel, make(chan struct{})
		go f.poll(ctx, f.polled)
	}
	return listener, func() {
		f.mu.Lock()
		delete(f.listeners, listener)
		var polled chan struct{}
		if len(f.listeners) == 0 && f.stop != nil {
			f.stop()
			f.stop, f.last, polled = nil, nil, f.polled
		}
		f.mu.Unlock()
		if polled != nil {
			<-polled
		}
	}
}

func (f *feed) poll(ctx context.Context, ended chan<- struct{}) {
	defer close(ended)
	ticker := time.NewTicker(f.h.pollInterval)
	defer ticker.Stop()
	failing := false
	for {
		queues, err := readQueues(ctx, f.client)
		switch {
		case err == nil:
			f.publish(ctx, queues)
		case ctx.Err() == nil && !failing:
			f.h.logger.Warn("braid: the stream of events cannot read the store; it goes on trying", "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// publish sends what has changed to all listeners.
func (f *feed) publish(ctx context.Context, queues Queues) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil { // another poll has taken over
		return
	}
	first := f.last == nil
	change := QueuesEvent{Queues: []Queue{}, Total: queues.Total}
	now := make(map[string]Queue, len(queues.Queues))
	for _, queue := range queues.Queues {
		now[queue.Name] = queue
		if before, known := f.last[queue.Name]; !known || before != queue {
			change.Queues = append(change.Queues, queue)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.last)) {
		if _, there := now[name]; !there {
			change.Removed = append(change.Removed, name)
		}
	}
	f.last, f.total = now, queues.Total
	if !first && len(change.Queues) == 0 && len(change.Removed) == 0 {
		return
	}
	event := encodeEvent("queues", change)
	for listener := range f.listeners {
		select {
		case listener <- event:
		default:
			delete(f.listeners, listener)
			close(listener)
		}
	}
}

// everything is the event that tells a new listener what the others know.
func (f *feed) everything() []byte {
	all := QueuesEvent{Queues: []Queue{}, Total: f.total}
	for _, name := range slices.Sorted(maps.Keys(f.last)) {
		all.Queues = append(all.Queues, f.last[name])
	}
	return encodeEvent("queues", all)
}

func encodeEvent(name string, data any) []byte {
	var out bytes.Buffer
	out.WriteString("event: " + name + "\ndata: ")
	if err := json.NewEncoder(&out).Encode(data); err != nil { // strings, numbers and flags always encode
		out.WriteString("null\n")
	}
	out.WriteString("\n")
	return out.Bytes()
}
