package dashboard

import "testing"

func TestNamesCanBeTold(t *testing.T) {
	for name, want := range map[string]string{
		"email": "email", "two words": "two words", " ": `" "`, "a ": `"a "`, "a\nb": `"a\nb"`, "a\u202eb": `a\u202eb`,
	} {
		if got := named(name); got != want {
			t.Errorf("%q is named %s, want %s", name, got, want)
		}
	}
}
