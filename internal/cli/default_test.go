package cli

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// What one process has enqueued without naming a store, another finds.
func TestTheDefaultStoreKeepsJobsBetweenProcesses(t *testing.T) {
	if conn, err := net.Dial("tcp", strings.TrimPrefix(defaultServer, "http://")); err == nil {
		conn.Close()
		t.Fatalf("something listens at %s; this test needs nothing to", defaultServer)
	}
	t.Setenv(storeVariable, "")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	code, id, stderr := run(t, t.Context(), "enqueue", "send-report", `{"week":7}`)
	if code != exitOK || stderr != "" {
		t.Fatalf("enqueue: exit code %d, %s", code, stderr)
	}
	code, stdout, stderr := run(t, t.Context(), "jobs", "get", strings.TrimSpace(id))
	if code != exitOK || !strings.Contains(stdout, "send-report") {
		t.Errorf("jobs get: exit code %d\n%s\n%s", code, stdout, stderr)
	}
}

func TestTwoDemosShareTheDefaultStore(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	folder := t.TempDir()
	const files = 50
	for i := range files {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprint(i)), []byte("1\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var demos sync.WaitGroup
	for range 2 {
		demos.Go(func() {
			code, stdout, stderr := run(t, t.Context(), "demo", folder)
			if code != exitOK || stderr != "" || !strings.HasPrefix(stdout, fmt.Sprintf("%d files in %s", files, folder)) {
				t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
			}
		})
	}
	demos.Wait()
}
