package engine

import (
	"fmt"
	"testing"
	"time"
)

func TestRecentCancelsAreBoundedAndTheNewestAreKept(t *testing.T) {
	var recent recentIDs
	at := time.Unix(1000, 0)
	const many = 5 * recentCancels
	for i := range many {
		recent.add(fmt.Sprint(i), at)
		if n := recent.len(); n > recentCancels {
			t.Fatalf("%d ids are kept after %d", n, i+1)
		}
	}
	for i := range recentCancels / 2 {
		if id := fmt.Sprint(many - 1 - i); !recent.take(id, at) {
			t.Fatalf("id %s, one of the newest, is forgotten", id)
		}
	}
	if recent.take("0", at) {
		t.Error("the oldest id is still known")
	}
}

func TestRecentCancelsAreForgottenInTime(t *testing.T) {
	var recent recentIDs
	at := time.Unix(1000, 0)
	recent.add("a", at)
	recent.add("b", at.Add(recentCancelAge-time.Second))
	if !recent.take("a", at.Add(recentCancelAge)) {
		t.Error("an id was forgotten too soon")
	}
	if recent.take("a", at.Add(recentCancelAge)) {
		t.Error("an id that was taken is still known")
	}
	recent.add("c", at.Add(4*recentCancelAge))
	if recent.take("b", at.Add(4*recentCancelAge)) {
		t.Error("an old id is still known")
	}
	if !recent.take("c", at.Add(4*recentCancelAge)) {
		t.Error("a new id is not known")
	}
	recent.add("d", at)
	if recent.take("d", at.Add(9*recentCancelAge)) {
		t.Error("an old id is still known although none came since")
	}
}
