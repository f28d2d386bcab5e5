package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestDoctorWarnsOfQueuesOnWhichNobodyWorks(t *testing.T) {
	t.Setenv(storeVariable, "sqlite:"+filepath.Join(t.TempDir(), "braid.db"))
	good(t, "enqueue", "mail", "--queue", "mail")
	good(t, "enqueue", "demo-inspect-file", "--queue", "demo/KILLED")
	got := good(t, "doctor")
	for _, want := range []string{
		`queue "mail": no worker that is alive works on it`, `braid jobs cancel --queue demo/KILLED clears them`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("doctor does not say %q:\n%s", want, got)
		}
	}
	good(t, "jobs", "cancel", "--queue", "demo/KILLED")
	if got := good(t, "doctor"); strings.Contains(got, "KILLED") {
		t.Errorf("doctor names a queue that was cleared:\n%s", got)
	}
}
