package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/sqlitestore"
)

// failsAs fails unless err is a store error of that kind.
func failsAs(t *testing.T, what string, err, want error, retryable bool) {
	t.Helper()
	var failure *driver.StoreError
	if !errors.Is(err, want) || !errors.As(err, &failure) || failure.Retryable != retryable || failure.OutcomeUnknown {
		t.Errorf("%s: %v (retryable: %v); want %v (retryable: %v, outcome known)", what, err, driver.Retryable(err), want, retryable)
	}
}

func openFile(t *testing.T, opts ...sqlitestore.Option) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(filepath.Join(t.TempDir(), "jobs.db"), append(opts, sqlitestore.WithRelaxedDurability())...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestAForeignTransactionMakesWritersBusyAndNotReaders(t *testing.T) {
	s := openFile(t, sqlitestore.WithBusyTimeout(100*time.Millisecond))
	enqueue(t, s, job("a"))
	tx, err := s.DB().Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	_, err = s.Enqueue(t.Context(), 0, []driver.EnqueueRequest{job("b")})
	failsAs(t, "Enqueue beside a transaction", err, sqlitestore.ErrBusy, true)
	if counts, err := s.Counts(t.Context(), ""); err != nil || counts.Waiting != 1 {
		t.Errorf("Counts beside a transaction: %+v, %v", counts, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Enqueue(ctx, 0, []driver.EnqueueRequest{job("c")}); !errors.Is(err, context.Canceled) {
		t.Errorf("Enqueue with a cancelled context: %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	enqueue(t, s, job("b"))
}

func TestACallThatWaitsForTheLockObeysItsContext(t *testing.T) {
	s := openFile(t, sqlitestore.WithBusyTimeout(time.Minute))
	tx, err := s.DB().Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	started := time.Now()
	if _, err := s.Enqueue(ctx, 0, []driver.EnqueueRequest{job("a")}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Enqueue: %v", err)
	}
	// So does Close: it does not wait for the lock.
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if waited := time.Since(started); waited > 30*time.Second {
		t.Errorf("the call and Close took %v", waited)
	}
}

func TestAFileThatIsNoDatabaseIsCorrupt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("no database", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := sqlitestore.Open(path)
	failsAs(t, "Open", err, sqlitestore.ErrCorrupt, false)
}

func TestADamagedFileIsCorrupt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	s, err := sqlitestore.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		enqueue(t, s, job(fmt.Sprint(n)))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// All pages but the first, with the schema.
	for i := 4096; i < len(content); i++ {
		content[i] = 0xa5
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err = sqlitestore.Open(path)
	if err == nil {
		defer s.Close()
		_, err = s.Enqueue(t.Context(), 0, []driver.EnqueueRequest{job("x")})
	}
	failsAs(t, "the first call", err, sqlitestore.ErrCorrupt, false)
}

func TestAFileThatCannotBeWrittenIsReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	s, err := sqlitestore.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	enqueue(t, s, job("a"))
	defer s.Close() // keeps the write-ahead log, without which nobody can read
	readOnly, err := sqlitestore.New(database(t, path, "&mode=ro"))
	if err != nil {
		t.Fatal(err)
	}
	defer readOnly.Close()
	_, err = readOnly.Enqueue(t.Context(), 0, []driver.EnqueueRequest{job("b")})
	failsAs(t, "Enqueue", err, sqlitestore.ErrReadOnly, false)
	if counts, err := readOnly.Counts(t.Context(), ""); err != nil || counts.Waiting != 1 {
		t.Errorf("Counts: %+v, %v", counts, err)
	}
}

func TestAFolderThatDoesNotExistIsAnError(t *testing.T) {
	if _, err := sqlitestore.Open(filepath.Join(t.TempDir(), "none", "jobs.db")); err == nil {
		t.Error("Open of a file in no folder succeeds")
	}
}

// fillUp enqueues until the disk is full, and returns how many jobs were accepted.
func fillUp(t *testing.T, s driver.Store) (accepted int64) {
	t.Helper()
	payload := []byte(`"` + strings.Repeat("x", 20_000) + `"`)
	for ; accepted < 10_000; accepted++ {
		big := job(fmt.Sprintf("big-%d", accepted))
		big.Payload = payload
		_, err := s.Enqueue(t.Context(), 0, []driver.EnqueueRequest{big})
		if err != nil {
			failsAs(t, "Enqueue on a full disk", err, sqlitestore.ErrFull, true)
			return accepted
		}
	}
	t.Fatal("the disk does not become full")
	return 0
}

// holdsExactly fails unless the store holds so many waiting jobs and works on.
func holdsExactly(t *testing.T, s *sqlitestore.Store, waiting int64) {
	t.Helper()
	if counts, err := s.Counts(t.Context(), ""); err != nil || counts.Waiting != waiting {
		t.Errorf("counts are %+v, %v; want %d waiting", counts, err, waiting)
	}
	if err := s.CheckInvariants(); err != nil {
		t.Error(err)
	}
}

// A limit of pages stands for a disk: SQLite tells both alike.
func TestAFullDatabaseIsTypedAndWorksOnWhenThereIsRoom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	s, err := sqlitestore.New(database(t, path, "&_pragma=max_page_count(200)"), sqlitestore.WithMigrate())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	accepted := fillUp(t, s)
	holdsExactly(t, s, accepted)
	removed, err := s.Remove(t.Context(), 0, []string{"big-0", "big-1", "big-2"})
	if err != nil || slices.Contains(removed, false) {
		t.Fatalf("Remove: %v, %v", removed, err)
	}
	enqueue(t, s, job("a"))
	holdsExactly(t, s, accepted-2)
}
