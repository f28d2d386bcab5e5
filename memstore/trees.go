package memstore

import (
	"github.com/tidwall/btree"

	"github.com/braidmq/braid/driver"
)

// newTree returns an ordered set. It has no lock of its own: the store's guards it.
func newTree[T any](less func(a, b T) bool) *btree.BTreeG[T] {
	return btree.NewBTreeGOptions(less, btree.Options{NoLocks: true})
}

// entry places a job in a timeline. The id is the record's.
type entry struct {
	at  driver.Time
	rec *record
}

// earlier orders entries by time, ties by the bytes of the id.
func earlier(a, b entry) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	return a.rec.job.ID < b.rec.job.ID
}

// timeline is a set of jobs in the order of one of their times, then id. The zero
// value is empty.
type timeline struct {
	tree *btree.BTreeG[entry]
}

func (t *timeline) add(at driver.Time, rec *record) {
	if t.tree == nil {
		t.tree = newTree(earlier)
	}
	t.tree.Set(entry{at: at, rec: rec})
}

func (t *timeline) remove(at driver.Time, rec *record) {
	if t.tree != nil {
		t.tree.Delete(entry{at: at, rec: rec})
	}
}

func (t *timeline) len() int {
	if t.tree == nil {
		return 0
	}
	return t.tree.Len()
}

// first returns the earliest entry, if there is one.
func (t *timeline) first() (entry, bool) {
	if t.tree == nil {
		return entry{}, false
	}
	return t.tree.Min()
}

// rank places a job in a ranking. Its minor parts never repeat within one.
type rank struct {
	major int64
	minor int64
	rec   *record
}

// before orders ranks by their major, then their minor parts.
func before(a, b rank) bool {
	if a.major != b.major {
		return a.major < b.major
	}
	return a.minor < b.minor
}

// ranking is a set of jobs in the order of two numbers. The zero value is empty.
type ranking struct {
	tree *btree.BTreeG[rank]
}

func (r *ranking) add(major, minor int64, rec *record) {
	if r.tree == nil {
		r.tree = newTree(before)
	}
	r.tree.Set(rank{major: major, minor: minor, rec: rec})
}

func (r *ranking) remove(major, minor int64) {
	if r.tree != nil {
		r.tree.Delete(rank{major: major, minor: minor})
	}
}

func (r *ranking) len() int {
	if r.tree == nil {
		return 0
	}
	return r.tree.Len()
}

// first returns the lowest rank, if there is one.
func (r *ranking) first() (rank, bool) {
	if r.tree == nil {
		return rank{}, false
	}
	return r.tree.Min()
}
