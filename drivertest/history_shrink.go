package drivertest

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// shrinkLimit bounds the cutting of a history.
const shrinkLimit = 10 * time.Second

// shrink cuts steps out of a history that fails, in ever smaller pieces, as long
// as it still fails, and returns what is left and how that fails. Any failure
// will do: a shorter one is easier to understand, whichever it is.
func shrink(t TB, h Harness, o HistoryOptions, seed uint64, steps []historyStep, failure string) ([]historyStep, string) {
	t.Helper()
	deadline := time.Now().Add(shrinkLimit)
	// A difference in the contents shows first where it arises, if they are compared
	// after each step; on a slow store that costs too much.
	checkEach := o.CheckEvery <= 25
	fails := func(candidate []historyStep) bool {
		n, text := replay(t, h, seed, candidate, checkEach)
		if text == "" {
			return false
		}
		steps, failure = slices.Clone(candidate[:n]), text
		return true
	}
	if !fails(steps) {
		return steps, failure
	}
	for size := len(steps) / 2; size > 0; size /= 2 {
		for from := 0; from < len(steps) && time.Now().Before(deadline); {
			candidate := slices.Concat(steps[:from], steps[min(len(steps), from+size):])
			if len(candidate) == 0 || !fails(candidate) {
				from += size
			}
		}
	}
	return steps, failure
}

// describe writes steps down, one a line.
func describe(steps []historyStep) string {
	var b strings.Builder
	for i, step := range steps {
		name := strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", step.call), "drivertest."), "Call")
		fmt.Fprintf(&b, "  %d. at %d: %s %s\n", i+1, step.now, name, render(step.call))
	}
	return b.String()
}
