package apiclient

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/httpapi"
	"github.com/braidmq/braid/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// both runs a test against a handler in this process and one behind a server.
func both(t *testing.T, test func(*testing.T, *Client)) {
	for _, kind := range []string{"in process", "server"} {
		t.Run(kind, func(t *testing.T) {
			store := memstore.New()
			client := braid.NewClient(store)
			handler := httpapi.New(client, httpapi.WithLogger(slog.New(slog.DiscardHandler)))
			t.Cleanup(func() { client.Close(); store.Close() })
			calls := InProcess(handler)
			if kind == "server" {
				server := httptest.NewServer(handler)
				t.Cleanup(server.Close)
				var err error
				if calls, err = New(server.URL+"/", "", ""); err != nil {
					t.Fatal(err)
				}
			}
			t.Cleanup(calls.Close)
			test(t, calls)
		})
	}
}

func TestCallsAreTheSameNearAndFar(t *testing.T) {
	both(t, func(t *testing.T, c *Client) {
		for _, id := range []string{"plain", "..", ".", "a/../b", "ü ?#%2F", `<"\>`} {
			var reply httpapi.EnqueueReply
			err := c.Send(t.Context(), http.MethodPost, "jobs", httpapi.EnqueueRequest{Jobs: []httpapi.NewJob{{Name: "a", ID: id}}}, &reply)
			if err != nil || reply.Results[0].ID != id {
				t.Fatalf("enqueue %q: %+v, %v", id, reply, err)
			}
			var job httpapi.Job
			if err := c.Get(t.Context(), "jobs/"+Segment(id), nil, &job); err != nil || job.ID != id {
				t.Errorf("get %q: %+v, %v", id, job, err)
			}
			if err := c.Send(t.Context(), http.MethodPost, "jobs/"+Segment(id)+"/cancel", nil, nil); err != nil {
				t.Errorf("cancel %q: %v", id, err)
			}
		}
		var page httpapi.JobPage
		if err := c.Get(t.Context(), "jobs", url.Values{"state": {"cancelled"}, "limit": {"2"}}, &page); err != nil || len(page.Jobs) != 2 || page.Cursor == "" {
			t.Errorf("list: %+v, %v", page, err)
		}
		var refusal *httpapi.Error
		if err := c.Get(t.Context(), "jobs/none", nil, &page); !errors.As(err, &refusal) || refusal.Code != httpapi.CodeNotFound || refusal.Status != 404 {
			t.Errorf("unknown: %v", err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.Get(ended, "jobs", nil, &page); !errors.Is(err, context.Canceled) {
			t.Errorf("an ended context: %v", err)
		}
	})
}

func TestTheTokenGoesToTheServerOnly(t *testing.T) {
	var elsewhere string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { elsewhere = r.Header.Get("Authorization") }))
	defer other.Close()
	var got, query string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, query = r.Header.Get("Authorization"), r.URL.RawQuery
		http.Redirect(w, r, other.URL, http.StatusFound)
	}))
	defer server.Close()
	c, err := New(server.URL, "secret", "archive")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	err = c.Get(t.Context(), "jobs", nil, nil)
	if err == nil || !strings.Contains(err.Error(), "is it a Braid server") || got != "Bearer secret" || query != "store=archive" || elsewhere != "" {
		t.Errorf("%v, %q, %q, %q", err, got, query, elsewhere)
	}
}

func TestWhatIsNoServerIsSaidToBeNone(t *testing.T) {
	for _, base := range []string{"", "localhost:80", "ftp://x", "http://", "redis://x"} {
		if _, err := New(base, "", ""); err == nil {
			t.Errorf("%q is taken for a server", base)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	c, err := New(server.URL, "", "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Get(t.Context(), "info", nil, &httpapi.Info{}); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("another server: %v", err)
	}
	server.Close()
	if err := c.Get(t.Context(), "info", nil, &httpapi.Info{}); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("no server: %v", err)
	}
}
