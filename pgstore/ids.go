package pgstore

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
)

// maxIDCollisions is how many assigned ids may turn out to be taken until an
// enqueue gives up.
const maxIDCollisions = 100

// idBlock is how many ids one value of the sequence stands for, as the migration that
// makes it says.
const idBlock = 100

// mostIDBlocks bounds how many blocks are drawn at once.
const mostIDBlocks = 32

// quickUse is in how short a time a drawing that is used up makes the next one larger.
const quickUse = time.Second

// idStock is the ids that the process has drawn and not given out. Its mutexes are held
// for moments only, never while the database is asked: those who wait for them may have
// all connections.
type idStock struct {
	mu     sync.Mutex
	blocks []int64       // the next id of each block; a block ends where idBlock divides
	size   int           // how many blocks the last drawing was for
	drawn  time.Time     // when that was
	filler chan struct{} // closed when the call that fills the stock is over; nil: none is

	generator sync.Mutex // held while the caller's generator is called
}

// take returns an id of the stock, unless that is empty.
func (s *idStock) take() (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.blocks) == 0 {
		return "", false
	}
	id := s.blocks[0]
	if s.blocks[0]++; s.blocks[0]%idBlock == 1 {
		s.blocks = s.blocks[1:]
	}
	return "j-" + strconv.FormatInt(id, 10), true
}

// put adds blocks that were drawn.
func (s *idStock) put(blocks []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocks = append(s.blocks, blocks...)
}

// next returns for how many blocks a drawing is to be: the more, the quicker the last one
// was used up.
func (s *idStock) next() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if now.Sub(s.drawn) < quickUse {
		s.size = min(2*s.size, mostIDBlocks)
	} else {
		s.size = 1
	}
	s.drawn = now
	return s.size
}

// turn makes the caller the one who fills the stock, or returns what to wait for while
// another does.
func (s *idStock) turn() (wait <-chan struct{}, own bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.filler != nil {
		return s.filler, false
	}
	s.filler = make(chan struct{})
	return s.filler, true
}

// over ends the caller's turn.
func (s *idStock) over() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.filler)
	s.filler = nil
}

// assignID draws an id: from the caller's generator, or from the stock, which one round
// trip fills. on is the transaction under way, if there is one: then
// that makes the round trip, since a second connection might not be there.
func (s *Store) assignID(ctx context.Context, on *tx) (string, error) {
	if s.generateID != nil {
		s.ids.generator.Lock()
		defer s.ids.generator.Unlock()
		return s.generateID(), nil
	}
	for {
		if id, ok := s.ids.take(); ok {
			return id, nil
		}
		if err := s.fillIDs(ctx, on); err != nil {
			return "", err
		}
	}
}

// fillIDs draws blocks of ids. Of those who have no transaction one does so for all.
func (s *Store) fillIDs(ctx context.Context, on *tx) error {
	var blocks []int64
	draw := func(t *tx) {
		blocks = nil
		t.query("ids_draw", func(rows pgx.Rows) error {
			var first int64
			err := rows.Scan(&first)
			blocks = append(blocks, first)
			return err
		}, s.ids.next())
	}
	if on != nil {
		draw(on)
		if err := on.send(); err != nil {
			return err
		}
		s.ids.put(blocks)
		return nil
	}
	wait, own := s.ids.turn()
	if !own {
		select {
		case <-wait:
			return nil
		case <-ctx.Done():
			return noIDs(context.Cause(ctx))
		case <-s.closing:
			return driver.ErrClosed
		}
	}
	defer s.ids.over()
	if err := s.pipeline(ctx, "Enqueue", 0, draw); err != nil {
		return noIDs(err)
	}
	s.ids.put(blocks)
	return nil
}

// noIDs says of an enqueue that got no ids that nothing of it was applied.
func noIDs(err error) error {
	if errors.Is(err, driver.ErrClosed) {
		return err
	}
	ended := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	return &driver.StoreError{Op: "Enqueue", Err: err, Retryable: ended || driver.Retryable(err)}
}
