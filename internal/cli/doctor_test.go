package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestDoctorLooksAtEveryStore(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := Run(t.Context(), []string{"doctor", "--store", "memory:", "--deep", "--with", "other=memory:"}, &stdout, &stderr); code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	for _, want := range []string{"store default: memory", "store other: memory", "ahead of this machine", "0 flows"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("output %q does not say %q", stdout.String(), want)
		}
	}
	stdout.Reset()
	if code := Run(t.Context(), []string{"doctor", "--store", "memory:", "--deep", "--json"}, &stdout, &stderr); code != exitOK || !json.Valid(stdout.Bytes()) {
		t.Errorf("exit code %d, output %s", code, stdout.String())
	}
}

func TestDoctorRefusesAStoreTwice(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := Run(t.Context(), []string{"doctor", "--store", "memory:", "--deep", "--with", "default=memory:"}, &stdout, &stderr)
	if code != exitUsage || !strings.Contains(stderr.String(), "taken") {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}

func TestADeepLookNeedsTheStoreItself(t *testing.T) {
	for _, args := range [][]string{{"--deep"}, {"--deep", "--store", "http://127.0.0.1:8080"}, {"--with", "a=memory:"}} {
		if code, _, stderr := run(t, t.Context(), append([]string{"doctor"}, args...)...); code != exitUsage || !strings.Contains(stderr, "--") {
			t.Errorf("doctor %v: exit code %d: %s", args, code, stderr)
		}
	}
}

func TestAStoreThatDoesNotAnswerIsAFinding(t *testing.T) {
	for url, want := range map[string]string{
		"redis://ann:hunter2@127.0.0.1:1":    "bad   store      redis://ann:xxxxx@127.0.0.1:1: ",
		"postgres://ann:hunter2@127.0.0.1:1": "bad   store      postgres://ann:xxxxx@127.0.0.1:1: ",
		"http://ann:hunter2@127.0.0.1:1":     "bad   store      http://ann:xxxxx@127.0.0.1:1: the server cannot be reached",
	} {
		code, stdout, stderr := run(t, t.Context(), "doctor", "--store", url)
		if code != exitFailure || !strings.HasPrefix(stdout, want) || !strings.Contains(stdout, "refused") ||
			stderr != "braid: the store is not healthy: 1 of 1 check is bad\n" || strings.Contains(stdout, "hunter2") {
			t.Errorf("doctor --store %s: exit code %d\n%s\n%s", url, code, stdout, stderr)
		}
	}
	if code, stdout, _ := run(t, t.Context(), "doctor", "--store", "mongo://db"); code != exitUsage || stdout != "" {
		t.Errorf("exit code %d, %s", code, stdout)
	}
}
