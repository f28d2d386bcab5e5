package flow

import (
	"strings"
	"testing"

	"github.com/braidmq/braid/driver"
)

func TestChildIDsOfDifferentChildrenDiffer(t *testing.T) {
	parts := []string{"", "a", "1:a", "a/1:a", "/", "1:", "a/"}
	seen := map[string][4]string{}
	for _, store := range parts {
		for _, flow := range parts {
			for _, run := range parts {
				for _, key := range parts {
					id, child := ChildID(store, flow, run, key), [4]string{store, flow, run, key}
					if other, taken := seen[id]; taken {
						t.Fatalf("%q and %q are both %q", child, other, id)
					}
					seen[id] = child
				}
			}
		}
	}
}

func TestALongChildIDIsHashed(t *testing.T) {
	id := ChildID("s", "f", "r", strings.Repeat("k", driver.MaxIDBytes))
	if len(id) > driver.MaxIDBytes || !strings.HasPrefix(id, driver.FlowIDPrefix) {
		t.Errorf("the id is %q", id)
	}
	if id != ChildID("s", "f", "r", strings.Repeat("k", driver.MaxIDBytes)) || id == ChildID("s", "f", "r", strings.Repeat("k", driver.MaxIDBytes+1)) {
		t.Error("the hash is not that of the child")
	}
	if id := ChildID("s", "f", "r", "k"); id != "flow/1:s/1:f/1:r/k" {
		t.Errorf("a short id is %q", id)
	}
}
