package pgstore

import (
	"context"
	"strconv"
	"sync"
)

// maxIDCollisions is how many assigned ids may turn out to be taken until an
// enqueue gives up.
const maxIDCollisions = 100

// idBlock is how many ids one value of the sequence stands for, as the migration that
// makes it says.
const idBlock = 100

// idStock is the ids that the process has drawn and not given out.
type idStock struct {
	mu   sync.Mutex
	next int64
	left int64
}

// assignID draws an id: from the caller's generator, or from the stock, which one round
// trip fills for a hundred ids. on is the transaction under way, if there is one: a
// second connection might not be there.
func (s *Store) assignID(ctx context.Context, on *tx) (string, error) {
	s.ids.mu.Lock()
	defer s.ids.mu.Unlock()
	if s.generateID != nil {
		return s.generateID(), nil
	}
	if s.ids.left == 0 {
		fill := func(t *tx) { t.scan("ids_draw", nil, []any{&s.ids.next}) }
		var err error
		if on != nil {
			fill(on)
			err = on.send()
		} else {
			err = s.pipeline(ctx, "Enqueue", 0, fill)
		}
		if err != nil {
			return "", err
		}
		s.ids.left = idBlock
	}
	id := "j-" + strconv.FormatInt(s.ids.next, 10)
	s.ids.next++
	s.ids.left--
	return id, nil
}
