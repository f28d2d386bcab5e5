package sqlitestore

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/braidmq/braid/driver"
)

// Whether jobs are inserted together or one by one makes no difference: not to the
// answers, the ids, the order or the counts.
func TestABatchIsWhatItsJobsAreOneByOne(t *testing.T) {
	seed := rand.Uint64()
	draw := rand.New(rand.NewPCG(seed, 0))
	together, oneByOne := openForTest(t), openForTest(t)
	for round := range 30 {
		batch := make([]driver.EnqueueRequest, draw.IntN(60))
		for i := range batch {
			batch[i] = request("")
			batch[i].Queue = fmt.Sprint("q", draw.IntN(2))
			switch n := draw.IntN(100); {
			case n < 30:
				batch[i].ID = fmt.Sprint("named-", round, "-", i)
			case n < 31:
				batch[i].ID = fmt.Sprint("j-", draw.IntN(1000)) // what the store may assign
			case n < 32:
				batch[i].ID = fmt.Sprint("named-", draw.IntN(round+1), "-", draw.IntN(60)) // it may be taken
			case n < 34:
				batch[i].Dedupe = &driver.Dedupe{Key: fmt.Sprint(draw.IntN(5))}
			case n < 36:
				batch[i].Payload = []byte(strings.Repeat("1", largePayload))
			case n < 40:
				batch[i].Delay = 1000
			}
		}
		got, err := together.Enqueue(t.Context(), 1, batch)
		if err != nil {
			t.Fatal(err)
		}
		for i := range batch {
			want, err := oneByOne.Enqueue(t.Context(), 1, batch[i:i+1])
			if err != nil {
				t.Fatal(err)
			}
			if got[i] != want[0] {
				t.Fatalf("seed %d, round %d, job %d of %d: %+v; one by one it is %+v", seed, round, i, len(batch), got[i], want[0])
			}
		}
	}
	request := driver.ListRequest{Limit: 10_000}
	got, err := together.List(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	want, err := oneByOne.List(t.Context(), request)
	if err != nil || !reflect.DeepEqual(got.Jobs, want.Jobs) {
		t.Errorf("seed %d: the jobs differ, %v", seed, err)
	}
	for _, s := range []*Store{together, oneByOne} {
		if err := s.CheckInvariants(); err != nil {
			t.Error(err)
		}
	}
}
