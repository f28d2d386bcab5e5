package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestMigrateUpStatusAndDown(t *testing.T) {
	store := "sqlite:" + filepath.Join(t.TempDir(), "jobs.db")
	for _, step := range []struct {
		args []string
		want []string
	}{
		{[]string{"migrate", "status"}, []string{"0001_jobs", "pending"}},
		{[]string{"migrate", "up", "--to", "1"}, []string{"up 0001_jobs", "at version 1 of"}},
		{[]string{"migrate", "status"}, []string{"applied", "pending"}},
		{[]string{"migrate", "up"}, []string{"up 0002_"}},
		{[]string{"migrate", "up"}, []string{"The schema is at version"}},
		{[]string{"migrate", "down", "--to", "1"}, []string{"down 0002_", "at version 1 of"}},
		{[]string{"migrate", "down"}, []string{"down 0001_jobs", "at version 0 of"}},
		{[]string{"migrate", "sql"}, []string{"CREATE TABLE braid_jobs", "INSERT INTO braid_migrations"}},
	} {
		code, stdout, stderr := run(t, t.Context(), append(step.args, "--store", store)...)
		if code != exitOK || stderr != "" {
			t.Fatalf("braid %v: exit code %d, stderr %s", step.args, code, stderr)
		}
		for _, want := range step.want {
			if !strings.Contains(stdout, want) {
				t.Errorf("braid %v does not say %q:\n%s", step.args, want, stdout)
			}
		}
	}
}

func TestMigrateRefusesWhatItCannotDo(t *testing.T) {
	store := "sqlite:" + filepath.Join(t.TempDir(), "jobs.db")
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"migrate", "up"}, "--store is missing"},
		{[]string{"migrate", "sideways"}, "unknown command"},
		{[]string{"migrate", "up", "--store", "memory:"}, "only SQL stores have"},
		{[]string{"migrate", "up", "--store", "sqlite:"}, "names no file"},
		{[]string{"migrate", "up", "--store", "sqlite://host/x"}, "names a host"},
		{[]string{"migrate", "up", "--to", "99", "--store", store}, "is no version"},
		{[]string{"migrate", "down", "--to", "3", "--store", store}, "use up"},
	} {
		code, _, stderr := run(t, t.Context(), test.args...)
		if code != exitUsage || !strings.Contains(stderr, test.want) {
			t.Errorf("braid %v: exit code %d, stderr %s; want %q", test.args, code, stderr, test.want)
		}
	}
}
