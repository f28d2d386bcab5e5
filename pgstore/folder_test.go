package pgstore

import (
	"sync/atomic"
	"testing"
	"time"
)

// A fold that takes its time is followed by another for what came meanwhile, and not
// joined by it.
func TestFoldsFollowEachOther(t *testing.T) {
	f := newFolder(&Store{closing: make(chan struct{})})
	f.interval = time.Millisecond
	var at atomic.Int32
	begun, finish := make(chan struct{}), make(chan struct{})
	f.step = func() (bool, error) {
		if at.Add(1) > 1 {
			t.Error("two folds at once")
		}
		begun <- struct{}{}
		<-finish
		at.Add(-1)
		return false, nil
	}
	f.begin()
	<-begun
	f.begin()
	select {
	case <-begun:
		t.Error("a second fold has begun before the first was over")
	case <-time.After(100 * time.Millisecond): // a hundred intervals
	}
	finish <- struct{}{}
	select {
	case <-begun:
		finish <- struct{}{}
	case <-time.After(20 * time.Second):
		t.Error("what came while the first fold was under way was not folded")
	}
	f.wait()
}
