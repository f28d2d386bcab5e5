package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/drivertest"
	"github.com/braidmq/braid/internal/testserver"
	"github.com/braidmq/braid/pgstore"
)

// faultLock is long enough for a crash and a restart, and short enough to wait for.
const faultLock = 5 * time.Second

// ownURL returns the URL of a schema of the shared server that the test has for itself,
// with the name of its sessions.
func ownURL(t *testing.T) (address, application string) {
	t.Helper()
	application = fmt.Sprintf("fault_%d_%d", os.Getpid(), ownSchemas.Add(1))
	return parameters(t, testserver.SharedPostgres(t), "application_name", application, "schema", application), application
}

func TestACrashOfTheServerLosesNoJob(t *testing.T) {
	server := testserver.Postgres(t)
	p := newPlant(t, server.URL(), faultLock)
	p.recoverStalled()
	p.work(20, time.Millisecond)
	produced := p.produce(0, faultJobs)
	for crash := 1; crash <= 2; crash++ {
		p.awaitRuns(crash * faultJobs / 4)
		if err := server.Crash(); err != nil {
			t.Fatal(err)
		}
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
	}
	produced()
	p.finish(faultJobs)
	if lines := p.log.len(); lines > 60 {
		t.Errorf("%d lines of log", lines)
	}
}

func TestTerminatedSessionsLoseNoJob(t *testing.T) {
	address, application := ownURL(t)
	p := newPlant(t, address, faultLock)
	p.recoverStalled()
	p.work(20, time.Millisecond)
	produced := p.produce(0, faultJobs)
	for round := 1; round <= 6; round++ {
		p.awaitRuns(round * faultJobs / 8)
		terminate(t, testserver.SharedPostgres(t), application) // the listener's, too
	}
	produced()
	p.finish(faultJobs)
}

// A session that listens is made again when it is terminated, and misses nothing.
func TestATerminatedListenerMissesNothing(t *testing.T) {
	address, _ := ownURL(t)
	listening, err := pgstore.Open(t.Context(), address, pgstore.WithMigrate(), pgstore.WithLogger(quiet))
	if err != nil {
		t.Fatal(err)
	}
	defer listening.Close()
	other, err := pgstore.Open(t.Context(), parameters(t, address, "application_name", "another"), pgstore.WithLogger(quiet))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	pool := connect(t, testserver.SharedPostgres(t))
	for n := range 5 {
		cursor := claimNothing(t, listening)
		woken := make(chan error, 1)
		go func() { woken <- listening.AwaitWake(t.Context(), []string{"q"}, cursor) }()
		mustExec(t, pool, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND application_name LIKE 'fault_%'`)
		enqueue(t, other, job(fmt.Sprint("job-", n)))
		select {
		case err := <-woken:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(faultWait):
			t.Fatalf("round %d: not woken", n)
		}
	}
	// A result is delivered over the gap.
	watch, err := listening.WatchFinished(t.Context(), "job-0")
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, pool, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND application_name LIKE 'fault_%'`)
	if _, err := other.Cancel(t.Context(), 1, []string{"job-0"}); err != nil {
		t.Fatal(err)
	}
	select {
	case end := <-watch:
		if end.State != driver.Cancelled {
			t.Errorf("the watch is told %+v", end)
		}
	case <-time.After(faultWait):
		t.Error("the watch is told nothing")
	}
}

// claimNothing returns the cursor of a claim.
func claimNothing(t *testing.T, s *pgstore.Store) driver.WakeCursor {
	t.Helper()
	for {
		result, err := s.Claim(t.Context(), 0, driver.ClaimRequest{Queue: "q", Names: []string{"nobody"}, Worker: "w", Token: "t", Limit: 1, LockDuration: 1000})
		if err == nil {
			return result.Cursor
		}
		if !driver.Retryable(err) {
			t.Fatal(err)
		}
	}
}

// Connections that accept and never answer end each call with its context, and all goes on
// when they answer again.
func TestConnectionsThatNeverAnswer(t *testing.T) {
	for name, mode := range map[string]testserver.ProxyMode{"nothing arrives": testserver.Stall, "no answer arrives": testserver.StallReplies} {
		t.Run(name, func(t *testing.T) {
			address, _ := ownURL(t)
			u, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			proxy := testserver.NewProxy(t, u.Host)
			u.Host = proxy.Addr()
			p := newPlant(t, u.String(), faultLock)
			p.recoverStalled()
			p.work(20, time.Millisecond)
			produced := p.produce(0, faultJobs/2)
			p.awaitRuns(faultJobs / 8)
			proxy.Set(mode)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			began := time.Now()
			if _, err := p.store.Counts(ctx, ""); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Counts: %v", err)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("a call with 300 ms ended after %v", took)
			}
			time.Sleep(1500 * time.Millisecond) // so long lasts the fault
			proxy.Set(testserver.Pass)
			produced()
			p.finish(faultJobs / 2)
		})
	}
}

// Databases whose transactions are serializable refuse some of them; they are tried again.
func TestSerializationFailuresAreTriedAgain(t *testing.T) {
	s := stores{book: schemaBook(t)}
	s.url = parameters(t, s.book.url, "default_transaction_isolation", "serializable")
	for _, name := range []string{"Concurrency/OneDedupKeyManyCallers", "Concurrency/CancelWhileCompleting", "Concurrency/ClaimsGiveEachJobOnce"} {
		t.Run(name, func(t *testing.T) { drivertest.RunCase(t, s.harness(), name) })
	}
}

// A transaction that is held open keeps vacuum from cleaning up, and nothing else.
func TestAnOpenTransactionHoldsUpNoJob(t *testing.T) {
	address, _ := ownURL(t)
	p := newPlant(t, address, time.Minute)
	pool := connect(t, testserver.SharedPostgres(t))
	tx, err := pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), "SELECT txid_current(), count(*) FROM pg_class"); err != nil {
		t.Fatal(err)
	}
	p.work(50, 0)
	p.produce(0, 3*faultJobs)()
	p.finish(3 * faultJobs)
}

// Jobs that callers enqueue while a transaction with the same keys is open wait for that,
// and not for connections.
func TestManyWhoWaitForAKeyKeepNoConnections(t *testing.T) {
	address, _ := ownURL(t)
	s, err := pgstore.Open(t.Context(), parameters(t, address, "pool_max_conns", "4"), pgstore.WithMigrate(), pgstore.WithLogger(quiet))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tx, err := connect(t, testserver.SharedPostgres(t)).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	keyed := job("")
	keyed.Dedupe = &driver.Dedupe{Key: "k"}
	if _, err := s.EnqueueTx(t.Context(), pgstore.Tx(tx), 0, []driver.EnqueueRequest{keyed}); err != nil {
		t.Fatal(err)
	}
	const waiting = 12
	answers := make(chan error, waiting)
	for range waiting {
		go func() {
			results, err := s.Enqueue(t.Context(), 0, []driver.EnqueueRequest{keyed})
			if err == nil && !results[0].Duplicate {
				err = errors.New("a second job has the key")
			}
			answers <- err
		}()
	}
	for n := range 50 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		_, err := s.Enqueue(ctx, 0, []driver.EnqueueRequest{job(fmt.Sprint("job-", n))})
		cancel()
		if err != nil {
			t.Fatalf("an enqueue without that key: %v", err)
		}
	}
	select {
	case err := <-answers:
		t.Errorf("an enqueue of the key did not wait: %v", err)
	default:
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range waiting {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
}
