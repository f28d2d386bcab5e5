package pgstore

import (
	"cmp"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
)

// The finished jobs of one name and state that retention has are a group, ordered by
// FinishedAt, then by the order in which they finished.

// trimGroup is a group that a transaction is to trim, once for all that finished in it.
type trimGroup struct {
	name  string
	state driver.State
	// finished is how many jobs have entered the group in this transaction.
	finished int64
	// least is the least of what a policy keeps, less how many had entered when it
	// applied: those that entered later stay beside what it keeps.
	least driver.Opt[int64]
	// at and turn are the place before which ages let jobs go.
	at   driver.Opt[driver.Time]
	turn int64
}

// trim applies the policy of a job that finished to its group. gone tells that the job
// itself does not stay.
func (t *tx) trim(rec *record, keep driver.Retention, gone bool) {
	i := slices.IndexFunc(t.groups, func(g *trimGroup) bool { return g.name == rec.name && g.state == rec.state })
	if i < 0 {
		i = len(t.groups)
		t.groups = append(t.groups, &trimGroup{name: rec.name, state: rec.state})
	}
	g := t.groups[i]
	if !gone {
		g.finished++
	}
	if count, ok := keep.Count.Get(); ok {
		if least := max(count, 0) - g.finished; !g.least.Set || least < g.least.Value {
			g.least = driver.Some(least)
		}
	}
	if age, ok := keep.Age.Get(); ok {
		// All that finished at or before now − age; of those that finish now, those that
		// have already.
		at, turn := t.now.Add(-age), int64(math.MaxInt64)
		if age <= 0 {
			turn = rec.turn + 1
		}
		if !g.at.Set || at > g.at.Value || at == g.at.Value && turn > g.turn {
			g.at, g.turn = driver.Some(at), turn
		}
	}
}

// flushTrims queues the trims. Of each group that counts, one transaction at a time
// does so, so that none is trimmed below what is kept.
func (t *tx) flushTrims() {
	groups := slices.DeleteFunc(t.groups, func(g *trimGroup) bool { return !g.least.Set && !g.at.Set })
	if len(groups) == 0 {
		return
	}
	n := len(groups)
	var locks []int64
	names, states, keeps := make([]string, n), make([]int16, n), make([]*int64, n)
	ats, turns := make([]*int64, n), make([]int64, n)
	for i, g := range groups {
		names[i], states[i], ats[i], turns[i] = g.name, int16(g.state), optionalTime(g.at), g.turn
		if least, ok := g.least.Get(); ok {
			keeps[i] = pointer(least + g.finished)
			locks = append(locks, t.store.lockKey("trim "+g.state.String()+" "+g.name))
		}
	}
	if len(locks) > 0 {
		slices.SortFunc(locks, cmp.Compare[int64])
		t.exec("lock", locks)
	}
	t.query("trims_apply", func(rows pgx.Rows) error {
		var deleted int
		err := rows.Scan(&deleted)
		*t.trims -= deleted
		return err
	}, names, states, keeps, ats, turns, max(*t.trims, 0))
}
