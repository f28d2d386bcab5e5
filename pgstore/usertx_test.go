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

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/testserver"
	"github.com/braidmq/braid/pgstore"
)

// The caller's own rows and jobs share their fate.
func TestJobsShareTheFateOfTheCallersRows(t *testing.T) {
	schema, pool := ownSchema(t)
	s := newStore(t, pool, pgstore.WithSchema(schema))
	users := pgx.Identifier{schema, "users"}.Sanitize()
	mustExec(t, pool, "CREATE TABLE "+users+" (name text)")
	welcome := job("")
	welcome.Dedupe = &driver.Dedupe{Key: "ann", TTL: driver.Some(driver.Millis(1000))}
	for _, commit := range []bool{false, true} {
		tx, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), "INSERT INTO "+users+" VALUES ('ann')"); err != nil {
			t.Fatal(err)
		}
		results, err := s.EnqueueTx(t.Context(), pgstore.Tx(tx), 0, []driver.EnqueueRequest{welcome})
		if err != nil || len(results) != 1 || results[0].Duplicate {
			t.Fatalf("EnqueueTx: %v, %v", results, err)
		}
		again, err := s.EnqueueTx(t.Context(), pgstore.Tx(tx), 0, []driver.EnqueueRequest{welcome})
		if err != nil || !again[0].Duplicate || again[0].ID != results[0].ID {
			t.Fatalf("EnqueueTx in the same transaction: %v, %v; want a duplicate of %v", again, err, results)
		}
		// The caller's transaction is as it was.
		var seqscan string
		if err := tx.QueryRow(t.Context(), "SELECT current_setting('enable_seqscan')").Scan(&seqscan); err != nil || seqscan != "on" {
			t.Errorf("enable_seqscan is %q in the caller's transaction, %v", seqscan, err)
		}
		want := driver.Counts{}
		if commit {
			want.Waiting = 1
			err = tx.Commit(t.Context())
		} else {
			err = tx.Rollback(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		if counts, err := s.Counts(t.Context(), ""); err != nil || counts != want {
			t.Errorf("committed: %v: %+v, %v", commit, counts, err)
		}
	}
	if err := s.CheckInvariants(t.Context()); err != nil {
		t.Error(err)
	}
}

// A call that fails leaves the caller's transaction usable, and nothing of its own.
func TestAFailedEnqueueLeavesTheCallersTransaction(t *testing.T) {
	schema, pool := ownSchema(t)
	s := newStore(t, pool, pgstore.WithSchema(schema))
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	bad := job("bad")
	bad.Payload = []byte("\"\xff\"")
	if _, err := s.EnqueueTx(t.Context(), pgstore.Tx(tx), 0, []driver.EnqueueRequest{job("good"), bad}); err == nil {
		t.Fatal("bytes that are no UTF-8 were stored")
	}
	if _, err := s.EnqueueTx(t.Context(), pgstore.Tx(tx), 0, []driver.EnqueueRequest{job("b")}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if counts, err := s.Counts(t.Context(), ""); err != nil || counts.Waiting != 1 {
		t.Errorf("%+v, %v", counts, err)
	}
}

// An uncommitted key makes only those wait who enqueue the same one, though the client
// sends enqueues of many callers together.
func TestOnlyWhoCollidesWithAnOpenTransactionWaits(t *testing.T) {
	schema, pool := ownSchema(t)
	s := newStore(t, pool, pgstore.WithSchema(schema))
	client := braid.NewClient(s)
	defer client.Close()
	work := braid.NewJob[int, int]("work")
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := work.Enqueue(t.Context(), client.Tx(pgstore.Tx(tx)), 1, braid.Dedupe("held")); err != nil {
		t.Fatal(err)
	}
	const callers, each = 8, 25
	type answer struct {
		id        string
		duplicate bool
		err       error
	}
	waiting := make(chan answer, 3)
	for range cap(waiting) {
		go func() {
			h, err := work.Enqueue(t.Context(), client, 2, braid.Dedupe("held"))
			if err != nil {
				waiting <- answer{err: err}
				return
			}
			waiting <- answer{id: h.ID, duplicate: h.Duplicate}
		}()
	}
	done := make(chan error, callers)
	began := time.Now()
	for range callers {
		go func() {
			for i := range each {
				if _, err := work.Enqueue(t.Context(), client, i); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range callers {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("callers who do not collide waited for %v", time.Since(began))
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Fatalf("callers who do not collide waited for %v", took)
	}
	select {
	case a := <-waiting:
		t.Fatalf("a caller who collides did not wait: %+v", a)
	default:
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	// One of them gets the key, the others its job.
	inserted, ids := 0, map[string]bool{}
	for range cap(waiting) {
		a := <-waiting
		if a.err != nil {
			t.Error(a.err)
		}
		if !a.duplicate {
			inserted++
		}
		ids[a.id] = true
	}
	if inserted != 1 || len(ids) != 1 {
		t.Errorf("those who collided inserted %d jobs, and know %d", inserted, len(ids))
	}
	if counts, err := s.Counts(t.Context(), ""); err != nil || counts.Waiting != callers*each+1 {
		t.Errorf("%+v, %v", counts, err)
	}
}

// A transaction on another database is refused, though that has tables of Braid, too.
func TestATransactionOfAnotherDatabaseIsRefused(t *testing.T) {
	schema, pool := ownSchema(t)
	s := newStore(t, pool, pgstore.WithSchema(schema))
	name := fmt.Sprintf("another_%d", os.Getpid())
	mustExec(t, pool, "CREATE DATABASE "+name)
	t.Cleanup(func() {
		if _, err := pool.Exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	address, err := url.Parse(testserver.SharedPostgres(t))
	if err != nil {
		t.Fatal(err)
	}
	address.Path = "/" + name
	another, err := pgstore.Open(t.Context(), address.String(), pgstore.WithSchema(schema), pgstore.WithMigrate(), pgstore.WithLogger(quiet))
	if err != nil {
		t.Fatal(err)
	}
	defer another.Close()
	tx, err := another.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.EnqueueTx(t.Context(), pgstore.Tx(tx), 0, []driver.EnqueueRequest{job("")}); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("EnqueueTx: %v", err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if counts, err := another.Counts(t.Context(), ""); err != nil || counts != (driver.Counts{}) {
		t.Errorf("the other database has %+v, %v", counts, err)
	}
}

// Under row-level security an enqueue whose id or key is another tenant's is refused, and
// not answered with a job that its caller cannot see.
func TestAnIDOrKeyOfAHiddenJobIsRefused(t *testing.T) {
	schema, pool := ownSchema(t)
	newStore(t, pool, pgstore.WithSchema(schema))
	quoted, role := pgx.Identifier{schema}.Sanitize(), fmt.Sprintf("tenant_%d", os.Getpid())
	mustExec(t, pool, "ALTER TABLE "+quoted+".braid_jobs ADD COLUMN tenant text")
	mustExec(t, pool, "CREATE ROLE "+role)
	t.Cleanup(func() {
		if _, err := pool.Exec(context.Background(), "DROP OWNED BY "+role+"; DROP ROLE "+role); err != nil {
			t.Error(err)
		}
	})
	mustExec(t, pool, "GRANT USAGE ON SCHEMA "+quoted+" TO "+role+"; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "+quoted+" TO "+role+
		"; GRANT USAGE ON ALL SEQUENCES IN SCHEMA "+quoted+" TO "+role+"; ALTER TABLE "+quoted+".braid_jobs ENABLE ROW LEVEL SECURITY"+
		"; CREATE POLICY own ON "+quoted+".braid_jobs USING (tenant = current_setting('app.tenant', true))")
	s := newStore(t, pool, pgstore.WithSchema(schema), pgstore.WithMetadataColumns(map[string]string{"tenant": "tenant"}))
	enqueueAs := func(tenant, id, key string, replace bool) (driver.EnqueueResult, error) {
		t.Helper()
		tx, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(context.Background()) }()
		if _, err := tx.Exec(t.Context(), "SET LOCAL ROLE "+role+"; SET LOCAL app.tenant = '"+tenant+"'"); err != nil {
			t.Fatal(err)
		}
		j := job(id)
		j.Metadata = map[string]string{"tenant": tenant}
		if key != "" {
			j.Dedupe = &driver.Dedupe{Key: key, Replace: replace}
		}
		results, err := s.EnqueueTx(t.Context(), pgstore.Tx(tx), 0, []driver.EnqueueRequest{j})
		if err != nil {
			return driver.EnqueueResult{}, err
		}
		return results[0], tx.Commit(t.Context())
	}
	for _, c := range []struct {
		tenant, id, key string
		replace         bool
		duplicate       bool
		refused         string
	}{
		{tenant: "a", key: "k"},
		{tenant: "a", key: "k", duplicate: true},
		{tenant: "b", key: "k", refused: "dedup key"},
		{tenant: "b", key: "k", replace: true, refused: "dedup key"},
		{tenant: "a", key: "k", replace: true, duplicate: true},
		{tenant: "b", id: "named"},
		{tenant: "b", id: "named", duplicate: true},
		{tenant: "a", id: "named", refused: "id"},
		{tenant: "a", id: "named", key: "fresh", refused: "id"},
		{tenant: "a", key: "fresh"},
	} {
		result, err := enqueueAs(c.tenant, c.id, c.key, c.replace)
		var invalid *driver.InvalidError
		if errors.As(err, &invalid) != (c.refused != "") || invalid != nil && invalid.Field != c.refused || invalid == nil && err != nil || result.Duplicate != c.duplicate {
			t.Errorf("%+v: %+v, %v", c, result, err)
		}
	}
	if counts, err := s.Counts(t.Context(), ""); err != nil || counts.Waiting != 3 {
		t.Errorf("%+v, %v", counts, err)
	}
	if err := s.CheckInvariants(t.Context()); err != nil {
		t.Error(err)
	}
}
