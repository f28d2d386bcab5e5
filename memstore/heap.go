package memstore

// minHeap merges ordered sources: its top is the source that goes first. It is
// filled by append, made a heap by init, and kept one by fixTop and dropTop.
type minHeap[T any] struct {
	items []T
	less  func(a, b T) bool
}

func (h *minHeap[T]) init() {
	for i := len(h.items)/2 - 1; i >= 0; i-- {
		h.sink(i)
	}
}

func (h *minHeap[T]) empty() bool { return len(h.items) == 0 }

func (h *minHeap[T]) top() *T { return &h.items[0] }

// fixTop restores the order after the top has changed.
func (h *minHeap[T]) fixTop() { h.sink(0) }

func (h *minHeap[T]) dropTop() {
	last := len(h.items) - 1
	h.items[0] = h.items[last]
	h.items = h.items[:last]
	h.sink(0)
}

func (h *minHeap[T]) sink(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h.items); child++ {
			if h.less(h.items[child], h.items[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		h.items[i], h.items[least] = h.items[least], h.items[i]
		i = least
	}
}
