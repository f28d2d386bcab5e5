package httpapi

import "sync/atomic"

// budget bounds what the long bodies and replies of all requests hold in memory
// together, so that a few callers cannot take all that the process has.
type budget struct{ left atomic.Int64 }

// take takes n bytes, or reports that there are not so many left.
func (b *budget) take(n int64) bool {
	for {
		left := b.left.Load()
		if n > left {
			return false
		}
		if b.left.CompareAndSwap(left, left-n) {
			return true
		}
	}
}

// force takes n bytes for what cannot be refused any more.
func (b *budget) force(n int64) { b.left.Add(-n) }

func (b *budget) give(n int64) { b.left.Add(n) }

// freeBytes is how long a body or a reply may be without counting.
const freeBytes = 64 << 10

func counted(n int64) int64 { return max(0, n-freeBytes) }
