package plural

import "testing"

func TestOnlyOneIsSingular(t *testing.T) {
	for n, want := range map[int64]string{-1: "-1 copies", 0: "0 copies", 1: "1 copy", 2: "2 copies"} {
		if got := Of(n, "copy", "copies"); got != want {
			t.Errorf("%d are called %q, want %q", n, got, want)
		}
	}
	if Word(int32(1), "has", "have") != "has" || Word(0, "has", "have") != "have" {
		t.Error("words are chosen badly")
	}
}
