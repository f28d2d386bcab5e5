package pgstore

import (
	"context"
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/testserver"
)

// openOn opens a store on tables that are there, with parameters for its URL.
func openOn(t *testing.T, n names, parameters map[string]string, opts ...Option) *Store {
	t.Helper()
	u, err := url.Parse(testserver.SharedPostgres(t))
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	for key, value := range parameters {
		query.Set(key, value)
	}
	u.RawQuery = query.Encode()
	s, err := Open(t.Context(), u.String(), append(opts, WithSchema(n.schema))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.CheckInvariants(context.Background()); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// startRuns enqueues jobs and claims them.
func startRuns(t *testing.T, s *Store, at driver.Time, queue string, n int) []driver.Ack {
	t.Helper()
	batch := make([]driver.EnqueueRequest, n)
	for i := range batch {
		batch[i].Spec = driver.Spec{Name: "n", Queue: queue, AttemptsMax: 1}
	}
	if _, err := s.Enqueue(t.Context(), at, batch); err != nil {
		t.Fatal(err)
	}
	claimed, err := s.Claim(t.Context(), at, driver.ClaimRequest{Queue: queue, Names: []string{"n"}, Worker: "w",
		Token: queue + strconv.Itoa(int(at)), Limit: n, LockDuration: 60_000})
	if err != nil || len(claimed.Jobs) != n {
		t.Fatalf("claimed %d of %d, %v", len(claimed.Jobs), n, err)
	}
	acks := make([]driver.Ack, n)
	for i, job := range claimed.Jobs {
		acks[i] = driver.Ack{ID: job.ID, Token: queue + strconv.Itoa(int(at)), Kind: driver.AckComplete}
	}
	return acks
}

func settle(t *testing.T, s *Store, at driver.Time, acks []driver.Ack) {
	t.Helper()
	results, err := s.Ack(t.Context(), at, acks)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.Err != nil {
			t.Fatalf("ack of %s: %v", acks[i].ID, r.Err)
		}
	}
}

func allStats(t *testing.T, s *Store) []driver.Stat {
	t.Helper()
	result, err := s.Stats(t.Context(), driver.StatsRequest{To: maxTime})
	if err != nil {
		t.Fatal(err)
	}
	return result.Stats
}

// foldAll folds until nothing is left.
func foldAll(t *testing.T, s *Store) {
	t.Helper()
	left := 1
	for range 1000 {
		if _, err := s.folder.fold(); err != nil {
			t.Fatal(err)
		}
		if err := s.pool.QueryRow(t.Context(), "SELECT count(*) FROM "+s.table("stat_changes")).Scan(&left); err != nil {
			t.Fatal(err)
		}
		if left == 0 {
			return
		}
	}
	t.Fatalf("%d changes of stats are never folded", left)
}

// One statement settles a batch of plain ends, another one where jobs are deleted, and
// several all else: they count alike, before the fold and after it.
func TestEveryWayOfAckingCounts(t *testing.T) {
	_, n := connectToTables(t)
	for _, mode := range []string{"cache_statement", "describe_exec", "exec", "simple_protocol"} {
		for _, deleted := range []bool{false, true} {
			t.Run(fmt.Sprint(mode, " deleted=", deleted), func(t *testing.T) {
				var opts []Option
				if deleted {
					opts = append(opts, WithDeleteFinished())
				}
				s := openOn(t, n, map[string]string{"default_query_exec_mode": mode}, opts...)
				if err := Empty(t.Context(), testserver.SharedPostgres(t), n.schema); err != nil {
					t.Fatal(err)
				}
				plain := append(startRuns(t, s, 60_000, "q", 5), startRuns(t, s, 60_500, "p", 1)...)
				plain[3].Kind = driver.AckFail
				settle(t, s, 61_000, plain)
				general := startRuns(t, s, 60_000, "q", 4)
				general[1].Kind, general[2].Kind, general[3].Kind = driver.AckFail, driver.AckRetry, driver.AckCancelled
				settle(t, s, 62_000, general)
				want := []driver.Stat{
					{Minute: 60_000, Queue: "p", Outcome: driver.OutcomeCompleted, Count: 1, RunTime: 500},
					{Minute: 60_000, Queue: "q", Outcome: driver.OutcomeCompleted, Count: 5, RunTime: 6000},
					{Minute: 60_000, Queue: "q", Outcome: driver.OutcomeRetried, Count: 1, RunTime: 2000},
					{Minute: 60_000, Queue: "q", Outcome: driver.OutcomeFailed, Count: 2, RunTime: 3000},
					{Minute: 60_000, Queue: "q", Outcome: driver.OutcomeCancelled, Count: 1, RunTime: 2000},
				}
				if got := allStats(t, s); !reflect.DeepEqual(got, want) {
					t.Errorf("stats are %+v, not %+v", got, want)
				}
				foldAll(t, s)
				if got := allStats(t, s); !reflect.DeepEqual(got, want) {
					t.Errorf("folded stats are %+v, not %+v", got, want)
				}
				if s.fastAck.skip.Load() != 0 {
					t.Error("plain ends did not go the fast way")
				}
				var counted int
				settle(t, s, 120_000, startRuns(t, s, 120_000, "q", 100))
				settle(t, s, 120_000, startRuns(t, s, 120_001, "q", 100))
				if err := s.pool.QueryRow(t.Context(), "SELECT coalesce(sum(runs), 0) FROM (TABLE "+s.table("stats")+" UNION ALL TABLE "+
					s.table("stat_changes")+") AS s WHERE minute = 120000").Scan(&counted); err != nil || counted != 200 {
					t.Errorf("%d of 200 runs are counted, %v", counted, err)
				}
			})
		}
	}
}

// Another process may be in the middle of an ack, or of a fold, for as long as it likes.
func TestAcksWaitForNobodysCounting(t *testing.T) {
	conn, n := connectToTables(t)
	s := openOn(t, n, nil)
	settle(t, s, 1000, startRuns(t, s, 0, "q", 1))
	foldAll(t, s)
	open, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = open.Rollback(context.Background()) }()
	for _, sql := range []string{
		fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", n.lockKey("fold")),
		n.render("UPDATE @stats SET runs = runs + 1"),
		n.render("INSERT INTO @stat_changes (minute, queue, outcome, runs, run_time, wait_time) VALUES (0, 'q', 1, 1, 0, 0)"),
	} {
		if _, err := open.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
	general := startRuns(t, s, 1, "q", 2)
	general[1].Kind = driver.AckRetry
	for what, acks := range map[string][]driver.Ack{"plain": startRuns(t, s, 0, "q", 1), "general": general} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		results, err := s.Ack(ctx, 1000, acks)
		cancel()
		if err != nil || results[0].Err != nil {
			t.Fatalf("%s ack: %v, %v", what, results, err)
		}
	}
	if got := allStats(t, s); len(got) != 2 || got[0].Count != 3 || got[1].Count != 1 {
		t.Errorf("stats are %+v", got)
	}
	if err := open.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := allStats(t, s); len(got) != 2 || got[0].Count != 5 {
		t.Errorf("stats with those of the other process are %+v", got)
	}
}

// Acks, folds of two processes, and sweeps of older minutes go on at once.
func TestNoRunIsLostInFoldingAndSweeping(t *testing.T) {
	const ackers, batches, size = 3, 15, 4
	_, n := connectToTables(t)
	stores := []*Store{openOn(t, n, nil), openOn(t, n, nil)}
	now := driver.Time(2 * driver.StatsKept)
	old := startRuns(t, stores[0], 0, "old", 1)
	settle(t, stores[0], 1, old)

	done := make(chan struct{})
	var acking, upkeep sync.WaitGroup
	for _, s := range stores {
		upkeep.Go(func() {
			for {
				if _, err := s.folder.fold(); err != nil {
					t.Error(err)
				}
				if _, err := s.SweepStats(t.Context(), now, 10); err != nil {
					t.Error(err)
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	runs := make([][][]driver.Ack, ackers)
	for a := range ackers {
		for b := range batches {
			runs[a] = append(runs[a], startRuns(t, stores[0], now+driver.Time(a*batches+b), "q", size))
		}
	}
	for a := range ackers {
		acking.Go(func() {
			for _, acks := range runs[a] {
				if _, err := stores[a%len(stores)].Ack(t.Context(), now+1000, acks); err != nil {
					t.Error(err)
				}
			}
		})
	}
	acking.Wait()
	close(done)
	upkeep.Wait()
	foldAll(t, stores[0])
	got := allStats(t, stores[1])
	if len(got) != 1 || got[0].Queue != "q" || got[0].Count != ackers*batches*size {
		t.Errorf("stats are %+v, not those of %d runs", got, ackers*batches*size)
	}
}
