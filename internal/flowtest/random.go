package flowtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/braidmq/braid"
)

const (
	flowsPerSeed = 20
	fewSeeds     = 4   // in a suite that runs over many pairs
	manySeeds    = 500 // 10,000 flows, with BRAID_SOAK
)

// seed names one history of random flows.
type seed uint64

func (s seed) String() string { return fmt.Sprintf("seed %d", uint64(s)) }

// RandomFlows runs random flows, whose parents and children are cancelled, removed
// and retried while they run, and some of whose workers die: 20 of them for each of so
// many seeds, or 10,000 if BRAID_SOAK is set. BRAID_SEED repeats the history of one seed.
func RandomFlows(t *testing.T, pair Pair, n int) {
	seeds := make([]seed, n)
	if os.Getenv("BRAID_SOAK") != "" {
		seeds = make([]seed, manySeeds)
	}
	for i := range seeds {
		seeds[i] = seed(rand.Uint64())
	}
	if text := os.Getenv("BRAID_SEED"); text != "" {
		var again seed
		if _, err := fmt.Sscan(text, (*uint64)(&again)); err != nil {
			t.Fatalf("BRAID_SEED %q: %v", text, err)
		}
		seeds = []seed{again}
	}
	scenarios(t, 4, seeds, func(t *testing.T, s seed) { s.run(t, pair) })
}

func (s seed) run(t *testing.T, pair Pair) {
	r := newRig(t, pair)
	draw := rand.New(rand.NewPCG(uint64(s), 1))
	processes := []*process{r.start(nil, withShortLock), r.start(nil, withShortLock)}
	plans := make(map[string]plan)
	var ids []string
	for i := range flowsPerSeed {
		id := fmt.Sprintf("flow %d", i)
		plans[id] = drawPlan(draw, levels, 50)
		ids = append(ids, id)
		if _, err := r.kinds.top(plans[id]).Enqueue(r.ctx, r.client, plans[id], braid.ID(id)); err != nil {
			t.Fatal(err)
		}
	}
	dies := draw.IntN(3) == 0
	for n := range 6 * flowsPerSeed {
		if dies && n == 3*flowsPerSeed {
			processes[0].life.die()
		}
		if err := r.interfere(draw, ids[draw.IntN(len(ids))]); err != nil {
			t.Errorf("interference %d: %v", n, err)
		}
		time.Sleep(time.Duration(draw.IntN(int(2 * time.Millisecond)))) // any moment will do
	}
	r.settled()
	for _, id := range ids {
		state, got := r.outcome(r.byID(id))
		if children := len(plans[id].Steps) + len(plans[id].Flows); state == braid.Completed && got.Total() != int64(children) {
			t.Errorf("flow %q collected %+v; it has %d children", id, got, children)
		}
	}
	r.soundResults()
	if t.Failed() {
		t.Logf("run it again with BRAID_SEED=%d", uint64(s))
	}
}

func fewRandomFlows(t *testing.T, pair Pair) { RandomFlows(t, pair, fewSeeds) }

// drawPlan draws a flow of at most so many levels, with at most so many steps.
func drawPlan(draw *rand.Rand, level, most int) plan {
	p := plan{Strict: draw.IntN(3) == 0, Trouble: draw.IntN(5) == 0}
	for i := range draw.IntN(most + 1) {
		do := succeed
		switch n := draw.IntN(100); {
		case n < 5:
			do = fail
		case n < 13:
			do = falter
		case n < 16:
			do = overrun
		case n < 20:
			do = putOff
		case n < 26:
			do = linger
		}
		p.Steps = append(p.Steps, step{Do: do, Value: i})
	}
	if level > 1 {
		for range draw.IntN(4) {
			p.Flows = append(p.Flows, drawPlan(draw, level-1, 10))
		}
	}
	return p
}

// interfere does something to a flow or to one of its children, if its state allows
// that.
func (r *rig) interfere(draw *rand.Rand, id string) error {
	client := r.client
	if draw.IntN(4) > 0 { // to a child
		page, err := client.Children(r.ctx, id, "")
		if err != nil || len(page.Children) == 0 {
			return err
		}
		child := page.Children[draw.IntN(len(page.Children))]
		id, client = child.JobID, client.On(child.Store)
		if draw.IntN(3) == 0 {
			_, err := client.Remove(r.ctx, id)
			return err
		}
	}
	act := client.Retry
	if draw.IntN(3) == 0 {
		act = client.Cancel
	}
	err := act(r.ctx, id)
	var state *braid.StateError
	if errors.As(err, &state) || errors.Is(err, braid.ErrNotFound) {
		return nil
	}
	return err
}

// soundResults fails if a collect found results that are not those that its counts
// say.
func (r *rig) soundResults() {
	r.Helper()
	for name := range r.stores {
		for job, err := range r.client.On(name).All(r.ctx, braid.ListFilter{States: []braid.State{braid.Failed}}) {
			if err != nil {
				r.Fatal(err)
			}
			if err := job.Err(); strings.Contains(err.Error(), unsoundResults) {
				r.Error(err)
			}
		}
	}
}
