package sqlitestore_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/sqlitestore"
)

// database opens a file with database/sql alone.
func database(t *testing.T, path, parameters string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_txlock=immediate"+parameters)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func mustExec(t *testing.T, db *sql.DB, text string) {
	t.Helper()
	if _, err := db.Exec(text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func job(id string) driver.EnqueueRequest {
	return driver.EnqueueRequest{ID: id, Spec: driver.Spec{Name: "work", Queue: "q", Payload: []byte(`1`), AttemptsMax: 1}}
}

func enqueue(t *testing.T, s driver.Store, reqs ...driver.EnqueueRequest) {
	t.Helper()
	if _, err := s.Enqueue(t.Context(), 0, reqs); err != nil {
		t.Fatal(err)
	}
}

func TestManyMayOpenAFreshFileAtOnce(t *testing.T) {
	for range 20 {
		path := filepath.Join(t.TempDir(), "jobs.db")
		var opening sync.WaitGroup
		for range 4 {
			opening.Go(func() {
				store, err := sqlitestore.Open(path)
				if err != nil {
					t.Errorf("Open: %v", err)
					return
				}
				if err := store.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
		}
		opening.Wait()
	}
}

func TestAFolderThatDoesNotExistIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing", "jobs.db")
	if _, err := sqlitestore.Open(path); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), filepath.Dir(path)) {
		t.Errorf("Open: %v", err)
	}
}

func TestADatabaseThatIsNotMigratedSaysWhatToRun(t *testing.T) {
	db := database(t, filepath.Join(t.TempDir(), "app.db"), "")
	mustExec(t, db, "CREATE TABLE users (name TEXT)")
	_, err := sqlitestore.New(db)
	if err == nil || !strings.Contains(err.Error(), "braid migrate up --store sqlite:PATH") {
		t.Fatalf("New: %v", err)
	}
	s, err := sqlitestore.New(db, sqlitestore.WithMigrate())
	if err != nil {
		t.Fatal(err)
	}
	enqueue(t, s, job("a"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// The caller's database is the caller's: it is open, and keeps what is not Braid's.
	mustExec(t, db, "INSERT INTO users VALUES ('ann')")
	migrations := sqlitestore.MigrationsOf(db)
	if _, err := migrations.To(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	var left string
	if err := db.QueryRow("SELECT group_concat(name) FROM sqlite_master WHERE name NOT LIKE 'sqlite%'").Scan(&left); err != nil {
		t.Fatal(err)
	}
	if left != "users,braid_migrations" {
		t.Errorf("after all migrations were taken back the database has %s", left)
	}
}

func TestAnOlderDatabaseIsMigratedWhenAsked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	migrations, err := sqlitestore.OpenMigrations(path)
	if err != nil {
		t.Fatal(err)
	}
	defer migrations.Close()
	if _, err := migrations.To(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlitestore.Open(path); err == nil || !strings.Contains(err.Error(), "braid migrate up") {
		t.Errorf("Open of an older file: %v", err)
	}
	s, err := sqlitestore.Open(path, sqlitestore.WithMigrate())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if format := s.Info().Format; format != migrations.Newest() {
		t.Errorf("the format is %d, want %d", format, migrations.Newest())
	}
}

func TestANewerDatabaseIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	s, err := sqlitestore.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, s.DB(), "INSERT INTO braid_migrations VALUES (99, 'to_come', 'x')")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, options := range [][]sqlitestore.Option{nil, {sqlitestore.WithMigrate()}} {
		if _, err := sqlitestore.Open(path, options...); !errors.Is(err, driver.ErrFormatTooNew) {
			t.Errorf("Open of a newer file: %v", err)
		}
	}
}

func TestSeveralProcessesMayPrepareOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	var opening sync.WaitGroup
	for range 8 {
		opening.Go(func() {
			s, err := sqlitestore.Open(path)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := s.Enqueue(context.Background(), 0, []driver.EnqueueRequest{job("")}); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	opening.Wait()
	s, err := sqlitestore.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if counts, err := s.Counts(t.Context(), "q"); err != nil || counts.Waiting != 8 {
		t.Errorf("counts are %+v, %v; want 8 waiting", counts, err)
	}
}

func TestTheExportedSQLMakesADatabaseThatOpens(t *testing.T) {
	db := database(t, filepath.Join(t.TempDir(), "app.db"), "")
	mustExec(t, db, sqlitestore.MigrationsOf(db).SQL())
	s, err := sqlitestore.New(db)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	enqueue(t, s, job("a"))
}

func TestAPoolThatIsTooSmallIsRefused(t *testing.T) {
	db := database(t, filepath.Join(t.TempDir(), "app.db"), "")
	db.SetMaxOpenConns(1)
	if _, err := sqlitestore.New(db, sqlitestore.WithMigrate()); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "SetMaxOpenConns") {
		t.Errorf("New: %v", err)
	}
}

func TestADatabaseWithoutWriteAheadLogIsRefused(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := sqlitestore.New(db, sqlitestore.WithMigrate()); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "write-ahead log") {
		t.Errorf("New: %v", err)
	}
}

func TestInfoTellsTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	s, err := sqlitestore.New(database(t, path, ""), sqlitestore.WithMigrate())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if info := s.Info(); info.Location != path || info.Kind != "sqlite" {
		t.Errorf("Info is %+v", info)
	}
}

func TestADatabaseInMemoryLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s, err := sqlitestore.Open(sqlitestore.InMemory)
	if err != nil {
		t.Fatal(err)
	}
	enqueue(t, s, job("a"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for field, option := range map[string]sqlitestore.Option{
		"history ttl":     sqlitestore.WithHistoryTTL(-1),
		"history ceiling": sqlitestore.WithHistoryCeiling(driver.HistoryCeiling{}),
		"id generator":    sqlitestore.WithIDGenerator(nil),
		"logger":          sqlitestore.WithLogger(nil),
		"busy timeout":    sqlitestore.WithBusyTimeout(0),
	} {
		var invalid *driver.InvalidError
		if _, err := sqlitestore.Open(filepath.Join(t.TempDir(), "jobs.db"), option); !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("Open with a bad %s: %v", field, err)
		}
	}
	if _, err := sqlitestore.Open(""); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("Open without a path: %v", err)
	}
	if _, err := sqlitestore.New(nil); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("New without a database: %v", err)
	}
}
