package storeurl

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/braidmq/braid/driver"
)

func TestTheDefaultStoreIsAFileInTheUsersFolder(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	t.Setenv("XDG_STATE_HOME", state)
	want := filepath.Join(state, "braid", "braid.db")
	if url, err := Default(); err != nil || url != "sqlite:"+want {
		t.Errorf("Default() = %q, %v; want sqlite:%s", url, err, want)
	}
	for range 2 { // made, and found again
		store, err := Open(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		if info := store.Info(); info.Kind != "sqlite" || info.Location != want {
			t.Errorf("the store is %+v", info)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
	if info, err := os.Stat(filepath.Dir(want)); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v; others must not read payloads", info, err)
	}
}

func TestTheDefaultStoreMigratesItself(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	url, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	reopen := func() {
		t.Helper()
		store, err := Open(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		store.Close()
	}
	reopen()
	m, err := OpenMigrator(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := m.To(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	reopen()
}

func TestTheFolderForStateFollowsTheEnvironment(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		t.Setenv("XDG_STATE_HOME", "relative")
		if url, err := Default(); err != nil || strings.Contains(url, "relative") {
			t.Errorf("Default() = %q, %v", url, err)
		}
		return
	}
	t.Setenv("HOME", "/home/ann")
	for set, want := range map[string]string{"": "/home/ann/.local/state", "relative": "/home/ann/.local/state", "/var/state": "/var/state"} {
		t.Setenv("XDG_STATE_HOME", set)
		if url, err := Default(); err != nil || url != "sqlite:"+want+"/braid/braid.db" {
			t.Errorf("Default() with XDG_STATE_HOME=%q = %q, %v", set, url, err)
		}
	}
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "")
	store, err := Open(t.Context(), "")
	var invalid *driver.InvalidError
	if !errors.As(err, &invalid) || !strings.Contains(err.Error(), "HOME") || !strings.Contains(err.Error(), "sqlite:jobs.db") {
		t.Errorf("Open = %v, %v; want an InvalidError that says what to do", store, err)
	}
}
