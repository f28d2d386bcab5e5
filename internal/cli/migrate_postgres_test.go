package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/braidmq/braid/internal/testserver"
)

func TestMigratePostgres(t *testing.T) {
	store := fmt.Sprintf("%s&schema=migrated_%d", testserver.SharedPostgres(t), os.Getpid())
	if code, _, stderr := run(t, t.Context(), "jobs", "list", "--store", store); code == exitOK || !strings.Contains(stderr, "run braid migrate up --store") {
		t.Errorf("a store that is not migrated: exit code %d, %s", code, stderr)
	}
	for _, step := range []struct {
		args []string
		want []string
	}{
		{[]string{"migrate", "status"}, []string{"0001_jobs", "pending"}},
		{[]string{"migrate", "up"}, []string{"up 0001_jobs", "up 0003_flows"}},
		{[]string{"jobs", "list"}, nil},
		{[]string{"migrate", "down", "--to", "0"}, []string{"down 0003_flows", "down 0001_jobs", "at version 0 of"}},
		{[]string{"migrate", "sql"}, []string{"CREATE TABLE", `"braid_jobs"`, `INSERT INTO`}},
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
