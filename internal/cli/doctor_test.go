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
