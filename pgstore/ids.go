package pgstore

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
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

// idStock is the ids that the process has drawn and not given out.
type idStock struct {
	mu     sync.Mutex
	blocks []int64 // the first id of each
	used   int64   // of the first block
	size   int     // how many blocks the last drawing took
	drawn  time.Time
}

// assignID draws an id: from the caller's generator, or from the stock, which one round
// trip fills, the larger the quicker it is used up. on is the transaction under way, if
// there is one: a second connection might not be there.
func (s *Store) assignID(ctx context.Context, on *tx) (string, error) {
	s.ids.mu.Lock()
	defer s.ids.mu.Unlock()
	if s.generateID != nil {
		return s.generateID(), nil
	}
	if len(s.ids.blocks) == 0 {
		if err := s.drawIDs(ctx, on); err != nil {
			return "", err
		}
	}
	id := "j-" + strconv.FormatInt(s.ids.blocks[0]+s.ids.used, 10)
	if s.ids.used++; s.ids.used == idBlock {
		s.ids.blocks, s.ids.used = s.ids.blocks[1:], 0
	}
	return id, nil
}

// drawIDs fills the stock. Its mutex is held.
func (s *Store) drawIDs(ctx context.Context, on *tx) error {
	size := 1
	if now := time.Now(); now.Sub(s.ids.drawn) < quickUse {
		size = min(2*s.ids.size, mostIDBlocks)
	}
	var blocks []int64
	fill := func(t *tx) {
		blocks = nil
		t.query("ids_draw", func(rows pgx.Rows) error {
			var first int64
			err := rows.Scan(&first)
			blocks = append(blocks, first)
			return err
		}, size)
	}
	var err error
	if on != nil {
		fill(on)
		err = on.send()
	} else {
		err = s.pipeline(ctx, "Enqueue", 0, fill)
	}
	if err == nil {
		s.ids.blocks, s.ids.size, s.ids.drawn = blocks, size, time.Now()
	}
	return err
}
