package sqlitestore

// merge reads several ordered sources as one. Each source is read in pages, when it
// comes to that.
type merge[T any] struct {
	less    func(a, b T) bool
	sources []*source[T] // a heap: the source with the least head is first
}

// source is one ordered source.
type source[T any] struct {
	page []T // what was read and not taken; never empty while in the heap
	// read returns the next page behind an item, the first one for nil.
	read func(after *T) ([]T, error)
	full int // a page with fewer items is the last
	last bool
}

// enter adds a source, unless it is empty.
func (m *merge[T]) enter(read func(after *T) ([]T, error), pageSize int) error {
	s := &source[T]{read: read, full: pageSize}
	if err := s.fill(nil); err != nil || len(s.page) == 0 {
		return err
	}
	m.sources = append(m.sources, s)
	for i := len(m.sources) - 1; i > 0; {
		parent := (i - 1) / 2
		if !m.before(i, parent) {
			break
		}
		m.sources[i], m.sources[parent] = m.sources[parent], m.sources[i]
		i = parent
	}
	return nil
}

func (s *source[T]) fill(after *T) error {
	page, err := s.read(after)
	s.page, s.last = page, len(page) < s.full
	return err
}

// next takes the least item of all sources.
func (m *merge[T]) next() (item T, ok bool, err error) {
	if len(m.sources) == 0 {
		return item, false, nil
	}
	s := m.sources[0]
	item = s.page[0]
	s.page = s.page[1:]
	if len(s.page) == 0 && !s.last {
		if err := s.fill(&item); err != nil {
			return item, false, err
		}
	}
	if len(s.page) == 0 {
		end := len(m.sources) - 1
		m.sources[0] = m.sources[end]
		m.sources = m.sources[:end]
	}
	m.sink()
	return item, true, nil
}

// peek returns the least item without taking it.
func (m *merge[T]) peek() (item T, ok bool) {
	if len(m.sources) == 0 {
		return item, false
	}
	return m.sources[0].page[0], true
}

func (m *merge[T]) before(a, b int) bool { return m.less(m.sources[a].page[0], m.sources[b].page[0]) }

func (m *merge[T]) sink() {
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(m.sources); child++ {
			if m.before(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		m.sources[i], m.sources[least] = m.sources[least], m.sources[i]
		i = least
	}
}
