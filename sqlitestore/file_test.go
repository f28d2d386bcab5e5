package sqlitestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/sqlitestore"
)

// What is written to a file that nobody will find again is refused.
func TestAFileThatIsRemovedOrReplacedIsNotWrittenTo(t *testing.T) {
	for name, put := range map[string]func(t *testing.T, path string){
		"removed": func(*testing.T, string) {},
		"replaced": func(t *testing.T, path string) {
			other, err := sqlitestore.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			enqueue(t, other, job("other"))
			if err := other.Close(); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "jobs.db")
			s, err := sqlitestore.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			enqueue(t, s, job("a"))
			for _, suffix := range []string{"", "-wal", "-shm"} {
				if err := os.Remove(path + suffix); err != nil {
					t.Fatal(err)
				}
			}
			put(t, path)
			if _, err := s.Enqueue(t.Context(), 0, []driver.EnqueueRequest{job("b")}); !errors.Is(err, sqlitestore.ErrReplaced) || driver.Retryable(err) {
				t.Errorf("Enqueue: %v", err)
			}
			if err := s.Ping(t.Context()); !errors.Is(err, sqlitestore.ErrReplaced) {
				t.Errorf("Ping: %v", err)
			}
			if _, err := os.Stat(path); (err == nil) != (name == "replaced") {
				t.Errorf("the file: %v", err)
			}
		})
	}
}
