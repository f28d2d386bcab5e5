package demo

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

func TestAnyFileNameSurvivesJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := filename(rapid.OneOf(
			rapid.String(),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.SampledFrom([]string{"", "{}", `{"base64":"AA=="}`, "\u2028", "<&>", "\ufffd", "\xed\xa0\x80"}),
		).Draw(t, "name"))
		encoded, err := json.Marshal(file{Path: name})
		if err != nil {
			t.Fatal(err)
		}
		var decoded file
		if err := json.Unmarshal(encoded, &decoded); err != nil {
			t.Fatalf("%s: %v", encoded, err)
		}
		if decoded.Path != name {
			t.Fatalf("%q became %q through %s", name, decoded.Path, encoded)
		}
	})
}

func TestABadEncodedFileNameIsRefused(t *testing.T) {
	for _, text := range []string{`{"base64":"?"}`, `{"base64":1}`, `7`, `[]`} {
		var name filename
		if err := json.Unmarshal([]byte(text), &name); err == nil {
			t.Errorf("%s became %q", text, name)
		}
	}
}

func TestFileNamesArePrintedOnOneLine(t *testing.T) {
	for name, want := range map[filename]string{
		"plain name.go":   "plain name.go",
		"naïve 日本.txt":    "naïve 日本.txt",
		"new\nline":       `"new\nline"`,
		"\x1b[31mred":     `"\x1b[31mred"`,
		"bytes\xff":       `"bytes\xff"`,
		"right\u202eleft": `"right\u202eleft"`,
	} {
		if got := name.String(); got != want {
			t.Errorf("%q is printed as %s, want %s", string(name), got, want)
		}
	}
}
