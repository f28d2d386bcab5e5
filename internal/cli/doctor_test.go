package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestDoctorLooksAtEveryStore(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := Run(t.Context(), []string{"doctor", "--deep", "--with", "other=memory:"}, &stdout, &stderr); code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	for _, want := range []string{"store default: memory", "store other: memory", "ahead of this machine"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("output %q does not say %q", stdout.String(), want)
		}
	}
	stdout.Reset()
	if code := Run(t.Context(), []string{"doctor", "--json"}, &stdout, &stderr); code != exitOK || !json.Valid(stdout.Bytes()) {
		t.Errorf("exit code %d, output %s", code, stdout.String())
	}
}

func TestDoctorRefusesAStoreTwice(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := Run(t.Context(), []string{"doctor", "--with", "default=memory:"}, &stdout, &stderr)
	if code != exitUsage || !strings.Contains(stderr.String(), "taken") {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}
