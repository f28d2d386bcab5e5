//go:build linux

package sqlitestore_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/sqlitestore"
)

// smallDisk returns a folder with room for two megabytes. It takes root to make one; where
// there is none, BRAID_SKIP=mount leaves the test out.
func smallDisk(t *testing.T) string {
	if slices.Contains(strings.Split(os.Getenv("BRAID_SKIP"), ","), "mount") {
		t.Skip("BRAID_SKIP lists mount")
	}
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=2m"); err != nil {
		t.Fatalf("mount: %v; run the tests as root, or leave this one out with BRAID_SKIP=mount", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return folder
}

func TestAFullDiskIsTypedAndWorksOnWhenThereIsRoom(t *testing.T) {
	folder := smallDisk(t)
	ballast := filepath.Join(folder, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 500_000), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := sqlitestore.Open(filepath.Join(folder, "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	accepted := fillUp(t, s)
	holdsExactly(t, s, accepted)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	enqueue(t, s, job("a"))
	holdsExactly(t, s, accepted+1)
	checkFile(t, filepath.Join(folder, "jobs.db"))
}

// SQLite ends a transaction that does not fit on the disk: nothing that follows in it may
// be kept.
func TestATransactionThatFillsTheDiskIsOver(t *testing.T) {
	s, err := sqlitestore.Open(filepath.Join(smallDisk(t), "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	mustExec(t, s.DB(), "CREATE TABLE own (x TEXT)")
	tx, err := s.DB().Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.Exec("PRAGMA cache_size = 10"); err != nil {
		t.Fatal(err)
	}
	batch := make([]driver.EnqueueRequest, 100)
	for i := range batch {
		batch[i] = job("")
		batch[i].Payload = []byte(`"` + strings.Repeat("x", 100_000) + `"`)
	}
	if _, err := s.EnqueueTx(t.Context(), sqlitestore.Tx(tx), 0, batch); !errors.Is(err, sqlitestore.ErrFull) {
		t.Fatalf("EnqueueTx: %v", err)
	}
	if _, err := tx.Exec("INSERT INTO own VALUES ('after')"); !errors.Is(err, sql.ErrTxDone) {
		t.Errorf("the caller's next statement: %v; want %v", err, sql.ErrTxDone)
	}
	if err := tx.Commit(); !errors.Is(err, sql.ErrTxDone) {
		t.Errorf("commit: %v; want %v", err, sql.ErrTxDone)
	}
	rows := 0
	if err := s.DB().QueryRow("SELECT count(*) FROM own").Scan(&rows); err != nil || rows != 0 {
		t.Errorf("%d rows of the transaction were kept, %v", rows, err)
	}
}
