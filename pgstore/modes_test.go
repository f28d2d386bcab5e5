package pgstore_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/drivertest"
	"github.com/braidmq/braid/internal/testserver"
	"github.com/braidmq/braid/pgstore"
)

// soak is whether to take the time for everything.
var soak = os.Getenv("BRAID_SOAK") != ""

// runSome runs a part of the suite, or, where there is time, all of it: every nth case,
// beginning with one of the first n. leaveOut says which cases cannot pass.
func runSome(t *testing.T, h drivertest.Harness, n, first int, leaveOut func(name string) bool) {
	t.Helper()
	at := 0
	for _, c := range drivertest.Cases() {
		if !c.Applies(h) || leaveOut(c.Name) {
			continue
		}
		at++
		if !soak && (at%n != first || strings.HasPrefix(c.Name, "History/") && first > 0) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			drivertest.RunCase(t, h, c.Name)
		})
	}
}

func nothing(string) bool { return false }

// pgx sends statements in several ways, which encode arguments and results differently.
func TestConformsInOtherQueryModes(t *testing.T) {
	for first, mode := range []string{"simple_protocol", "exec", "describe_exec", "cache_describe"} {
		t.Run(mode, func(t *testing.T) {
			s := stores{book: schemaBook(t)}
			s.mode = mode
			runSome(t, s.harness(), 8, first, nothing)
		})
	}
}

// pooled are the cases that need notifications, which do not pass a transaction pooler.
func pooled(name string) bool {
	switch name {
	case "Wake/AcrossProcesses", "Wake/AfterReconnect", "Tx/Commit":
		return true
	}
	return false
}

func TestConformsBehindATransactionPooler(t *testing.T) {
	s := stores{book: schemaBook(t), mode: "exec", opts: []pgstore.Option{pgstore.WithoutListen()}}
	s.url = testserver.PgBouncer(t, s.book.url)
	runSome(t, s.harness(), 6, 5, pooled)
}

// Behind a transaction pooler the store finds out by itself that it hears nothing, and
// polls: results and cancels arrive all the same.
func TestAStoreThatHearsNothingPolls(t *testing.T) {
	book := schemaBook(t)
	s := stores{book: book, mode: "exec", url: testserver.PgBouncer(t, book.url)}
	one := s.open(t, book.take(t))
	other := s.open(t, one.schema)
	enqueue(t, other, job("a"), job("b"))
	claimed, err := one.Claim(t.Context(), 1, driver.ClaimRequest{Queue: "q", Names: []string{"work"}, Worker: "w", Token: "t", Limit: 1, LockDuration: 1000})
	if err != nil || len(claimed.Jobs) != 1 {
		t.Fatalf("Claim: %v, %v", claimed, err)
	}
	cancels := make(chan string, 100)
	go func() { _ = one.WatchCancels(t.Context(), func(id string) { cancels <- id }) }()
	end, err := one.WatchFinished(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Cancel(t.Context(), 2, []string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	late := time.After(30 * time.Second)
	select {
	case got := <-end:
		if got.ID != "b" || got.State != driver.Cancelled {
			t.Errorf("the watch is told %+v", got)
		}
	case <-late:
		t.Error("the end of a job was not noticed")
	}
	select {
	case id := <-cancels:
		if id != "a" {
			t.Errorf("a cancel of %q was delivered", id)
		}
	case <-late:
		t.Error("a cancel request was not noticed")
	}
}
