package storeurl

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/braidmq/braid/driver"
)

func TestMemoryOpens(t *testing.T) {
	for _, raw := range []string{"memory:", "MEMORY:"} {
		store, err := Open(t.Context(), raw)
		if err != nil {
			t.Fatalf("Open(%q): %v", raw, err)
		}
		if kind := store.Info().Kind; kind != "memory" {
			t.Errorf("Open(%q) is a store of kind %q", raw, kind)
		}
		if err := store.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

func TestAnUnknownStoreIsRefusedWithTheOnesThereAre(t *testing.T) {
	for _, raw := range []string{"memory", "mongo://db", "/tmp/x", "://x"} {
		store, err := Open(t.Context(), raw)
		var invalid *driver.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != "store" {
			t.Errorf("Open(%q) = %v, %v; want an InvalidError of the store", raw, store, err)
			continue
		}
		for _, form := range Forms() {
			if form.Scheme != "memory" && strings.HasPrefix(raw, "memory:") {
				continue // the scheme is known; its own form is what helps
			}
			if !strings.Contains(err.Error(), form.Example) {
				t.Errorf("Open(%q): %q does not name %s", raw, err, form.Example)
			}
		}
	}
}

func TestAMemoryStoreHasNoAddress(t *testing.T) {
	if _, err := Open(t.Context(), "memory://host"); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("Open: %v; want an InvalidError", err)
	}
}

func TestRedisIsAsked(t *testing.T) {
	for _, raw := range []string{"redis://127.0.0.1:1", "REDISS://127.0.0.1:1", "unix:///nowhere/redis.sock"} {
		store, err := Open(t.Context(), raw)
		if !driver.Retryable(err) {
			t.Errorf("Open(%q) = %v, %v; want an error that can be retried: nobody is there", raw, store, err)
		}
	}
}

func TestTheRedisClientLogsWithTheProgram(t *testing.T) {
	var log lockedLog
	logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if _, err := OpenLogged(t.Context(), "redis://127.0.0.1:1", logger); err == nil {
		t.Error("a store was opened where none is")
	}
	if !strings.Contains(log.String(), `"level":"DEBUG","msg":"braid: the Redis client: `) {
		t.Errorf("the log: %s", log.String())
	}
}

// lockedLog is written by the goroutines of a client.
type lockedLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestPostgresIsAsked(t *testing.T) {
	for _, raw := range []string{"postgres://127.0.0.1:1/db", "PostgreSQL://ann:hunter2@127.0.0.1:1/db?schema=jobs"} {
		store, err := Open(t.Context(), raw)
		if !driver.Retryable(err) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Open(%q) = %v, %v; want an error that can be retried: nobody is there", raw, store, err)
		}
	}
	for _, raw := range []string{"postgres://db:port/", "postgres://db/x?schema="} {
		if _, err := Open(t.Context(), raw); !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("Open(%q): %v", raw, err)
		}
	}
}

func TestErrorsHideSecrets(t *testing.T) {
	for raw, want := range map[string]string{
		"mongo://ann:hunter2@db/x":               "mongo://ann:xxxxx@db/x",
		"mongo://db/x?password=hunter2&tls=true": "mongo://db/x?password=xxxxx&tls=true",
		"mongo://db/x?a=1&authToken=hunter2":     "mongo://db/x?a=1&authToken=xxxxx",
		"mongo:ann:hunter2@db":                   "mongo:xxxxx",
		"mongo://ann:hunter2 %zz@db":             "mongo:xxxxx",
		"hunter2@%zz":                            "xxxxx",
		"mongo://db":                             "mongo://db",
		"postgres//ann:hunter2@db/x":             "xxxxx",
		"host=db user=ann password=hunter2":      "xxxxx",
		"host=db password=hunter2:x":             "xxxxx",
		"password hunter2":                       "xxxxx",
		"postgress:host=h password=hunter2":      "postgress:xxxxx",
		"mongo:password=hunter2":                 "mongo:xxxxx",
		"mongo:/ann:hunter2@db/x":                "mongo:xxxxx",
		"mongo://ann:1/hunter2@db/x":             "mongo:xxxxx",
		"mongo://ann:1#hunter2@db/x":             "mongo:xxxxx",
		"mongo://ann:1?hunter2@db/x":             "mongo:xxxxx",
		"mongo://db/x?a=1;password=hunter2":      "mongo://db/x?a=1&password=xxxxx",
	} {
		if got := Redact(raw); got != want {
			t.Errorf("Redact(%q) = %q, want %q", raw, got, want)
		}
		_, err := Open(t.Context(), raw)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Open(%q): %v", raw, err)
		}
		_, err = OpenMigrator(t.Context(), raw)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("OpenMigrator(%q): %v", raw, err)
		}
	}
}

func TestErrorsOfTheStoresHideSecrets(t *testing.T) {
	for _, raw := range []string{
		"postgres:host=db password=hunter2", "postgres://ann:hunter2@db:port/x", "postgres:/ann:hunter2@db/x", "postgres://ann:1/hunter2@db/x",
		"postgres://ann:1#hunter2@db/x", "postgres://ann:hunter2@127.0.0.1:1/x?schema=", "postgres://127.0.0.1:1/x?password=hunter2&sslmode=odd",
		"postgres: password = hunter2 port=abc", "postgres://ann:hunter2%zz@db/x", "postgres://ann:1?hunter2@127.0.0.1:1/x",
		"redis://ann:hunter2@db:port", "redis:/ann:hunter2@db", "redis://ann:1/hunter2@127.0.0.1:1", "redis://ann:1#hunter2@127.0.0.1:1",
		"redis://ann:hunter2%zz@db", "redis://ann:hunter2@127.0.0.1:1/x", "redis://127.0.0.1:1?password=hunter2", "redis:ann:hunter2@db",
		"sqlite://ann:hunter2@db/x",
	} {
		store, err := Open(t.Context(), raw)
		if err == nil {
			store.Close()
		}
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Open(%q): %v", raw, err)
		}
	}
}

func TestAPathIsShownAsItIs(t *testing.T) {
	for _, raw := range []string{"sqlite:/home/ann@work/key=1 x.db", "sqlite:jobs.db", "/tmp/x", "memory"} {
		if got := Redact(raw); got != raw {
			t.Errorf("Redact(%q) = %q", raw, got)
		}
	}
}

func TestSQLiteOpens(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, raw := range []string{"sqlite:jobs.db", "SQLITE:./a b%20?.db", "sqlite:///" + t.TempDir() + "/c.db", "sqlite::memory:"} {
		store, err := Open(t.Context(), raw)
		if err != nil {
			t.Fatalf("Open(%q): %v", raw, err)
		}
		if kind := store.Info().Kind; kind != "sqlite" {
			t.Errorf("Open(%q) is a store of kind %q", raw, kind)
		}
		if err := store.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	for _, file := range []string{"jobs.db", "a b%20?.db"} {
		if _, err := os.Stat(file); err != nil {
			t.Errorf("the file is not where the URL says: %v", err)
		}
	}
	for _, raw := range []string{"sqlite:", "sqlite://host/jobs.db"} {
		if _, err := Open(t.Context(), raw); !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("Open(%q): %v", raw, err)
		}
	}
}
