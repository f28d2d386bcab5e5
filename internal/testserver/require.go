package testserver

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// skipVariable lists the kinds of server whose tests somebody chose to leave out,
// separated by commas.
const skipVariable = "BRAID_SKIP"

// skipIfAsked skips the test if the environment says by hand that tests with this kind
// of server shall not run.
func skipIfAsked(t testing.TB, kind string) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv(skipVariable), ","), kind) {
		t.Skipf("%s lists %s", skipVariable, kind)
	}
}

// find returns the path of the first of these programs that is installed.
func find(kind string, programs ...string) (string, error) {
	for _, program := range programs {
		if path, err := exec.LookPath(program); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not installed: `make test` installs it; to leave these tests out, set %s=%s by hand",
		strings.Join(programs, " or "), skipVariable, kind)
}
