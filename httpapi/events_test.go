package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// listener reads the stream of events.
type listener struct {
	t      *testing.T
	events chan QueuesEvent
	ended  chan struct{}
}

func (b *bench) listen(ctx context.Context, server *httptest.Server) *listener {
	b.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/api/v1/events", nil)
	if err != nil {
		b.Fatal(err)
	}
	response, err := server.Client().Do(request) //nolint:bodyclose // the goroutine below closes it
	if err != nil || response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		b.Fatalf("%+v, %v", response, err)
	}
	l := &listener{b.T, make(chan QueuesEvent, 100), make(chan struct{})}
	go func() {
		defer close(l.ended)
		defer response.Body.Close()
		lines := bufio.NewScanner(response.Body)
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			for _, problem := range b.doc.check("QueuesEvent", []byte(data)) {
				b.Errorf("the event is not as documented: %s", problem)
			}
			var event QueuesEvent
			if err := json.Unmarshal([]byte(data), &event); err != nil {
				b.Error(err)
			}
			l.events <- event
		}
	}()
	return l
}

func (l *listener) next() QueuesEvent {
	l.t.Helper()
	select {
	case event := <-l.events:
		return event
	case <-time.After(10 * time.Second):
		l.t.Fatal("no event came")
		panic("unreachable")
	}
}

func TestTheStreamTellsWhatChanges(t *testing.T) {
	b := newBench(t)
	b.enqueue(NewJob{Name: "a", JobOptions: JobOptions{Queue: "one"}})
	server := httptest.NewServer(b.api)
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := b.listen(ctx, server)
	if event := first.next(); len(event.Queues) != 1 || event.Queues[0].Name != "one" || event.Total.Waiting != 1 {
		t.Errorf("the first event: %+v", event)
	}
	second := b.listen(ctx, server)
	second.next()
	id := b.enqueue(NewJob{Name: "a", JobOptions: JobOptions{Queue: "two"}})[0].ID
	for _, l := range []*listener{first, second} {
		if event := l.next(); len(event.Queues) != 1 || event.Queues[0].Name != "two" || event.Total.Waiting != 2 {
			t.Errorf("a new queue: %+v", event)
		}
	}
	b.do("DELETE", "/api/v1/jobs/"+id, nil).ok(nil)
	if event := first.next(); len(event.Removed) != 1 || event.Removed[0] != "two" {
		t.Errorf("a queue that is gone: %+v", event)
	}
	second.next()

	// All listeners leave; the next one learns everything anew.
	cancel()
	<-first.ended
	<-second.ended
	b.do("POST", "/api/v1/queues/one/pause", nil).ok(nil)
	third := b.listen(t.Context(), server)
	event := third.next()
	if len(event.Queues) == 1 && !event.Queues[0].Paused {
		event = third.next() // the server had not seen the others leave yet
	}
	if len(event.Queues) != 1 || !event.Queues[0].Paused {
		t.Errorf("after a while without listeners: %+v", event)
	}
	b.api.Drain()
	select {
	case <-third.ended:
	case <-time.After(10 * time.Second):
		t.Error("the stream of a drained server goes on")
	}
}

func TestAListenerThatDoesNotReadHoldsUpNobody(t *testing.T) {
	b := newBench(t)
	feed := b.api.feeds.get(b.api, b.client)
	slow, leaveSlow := feed.join()
	defer leaveSlow()
	for i := range 2 * listenerBuffer {
		feed.publish(t.Context(), Queues{Queues: []Queue{{Name: strings.Repeat("q", i+1)}}})
	}
	received := 0
	for range slow { // ends, because the feed has given it up
		received++
	}
	if received == 0 {
		t.Error("the listener got nothing")
	}
	quick, leaveQuick := feed.join()
	defer leaveQuick()
	select {
	case event := <-quick:
		if !strings.HasPrefix(string(event), "event: queues\ndata: {") {
			t.Errorf("%s", event)
		}
	case <-time.After(10 * time.Second):
		t.Error("the next listener got nothing")
	}
}
