package pgstore

import (
	"sync"

	"github.com/jackc/pgx/v5"
)

// growth notices when the tables have become so much larger or smaller that plans of
// statements may be bad: the server keeps a plan for as long as a connection lives, and
// learns of growth only when autovacuum comes by, which may be a minute later.
type growth struct {
	mu       sync.Mutex
	epoch    int64
	size     int64 // how many jobs there were when the epoch began
	inserted int64 // by this process since
}

const (
	// growthFactor is by how much the tables change until plans are made anew.
	growthFactor = 4
	// smallTable is from how many jobs on that matters.
	smallTable = 250
)

// insert notes that jobs were inserted.
func (g *growth) insert(jobs int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inserted += int64(jobs)
	g.consider(g.size + g.inserted)
}

// observe notes how many jobs there are.
func (g *growth) observe(jobs int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.consider(jobs)
}

func (g *growth) consider(jobs int64) {
	if jobs > growthFactor*max(g.size, smallTable) || g.size > growthFactor*max(jobs, smallTable) {
		g.epoch++
		g.size, g.inserted = jobs, 0
	}
}

// plansOf reports whether a connection's plans are of this epoch, and takes them for so
// from now on.
func (g *growth) plansOf(conn *pgx.Conn, store string) bool {
	g.mu.Lock()
	epoch := g.epoch
	g.mu.Unlock()
	known := conn.PgConn().CustomData()
	key := "braid plans of " + store
	before, _ := known[key].(int64)
	known[key] = epoch
	return before == epoch
}
