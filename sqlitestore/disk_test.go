//go:build linux

package sqlitestore_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/braidmq/braid/sqlitestore"
)

// The test needs root, to mount a small disk. Where there is none, BRAID_SKIP=mount
// leaves it out.
func TestAFullDiskIsTypedAndWorksOnWhenThereIsRoom(t *testing.T) {
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
