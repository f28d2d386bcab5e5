package compare

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// fake is a system whose work takes as long as it says, and a server that it fills.
type fake struct {
	name   string
	server *fakeServer
	factor int
	err    error
}

type fakeServer struct {
	emptied int
	usage   Usage
}

func (s *fakeServer) Empty() error          { s.emptied++; s.usage.Memory = 1000; return nil }
func (s *fakeServer) Usage() (Usage, error) { return s.usage, nil }

func (f *fake) Name() string { return f.name }

func (f *fake) work(jobs int) (time.Duration, error) {
	took := time.Duration(jobs*f.factor) * time.Millisecond
	f.server.usage.CPU += took
	f.server.usage.Commands += took / 2
	return took, f.err
}

func (f *fake) Enqueue(_ context.Context, jobs, _ int) (time.Duration, error) { return f.work(jobs) }

func (f *fake) EnqueueBatches(_ context.Context, jobs int) (time.Duration, error) {
	f.server.usage.Memory += int64(jobs * f.factor * 100)
	return f.work(jobs)
}

func (f *fake) Process(_ context.Context, jobs, concurrency int) (time.Duration, error) {
	took, err := f.work(jobs)
	return took / time.Duration(concurrency), err
}

func TestTheTableShowsTheBestFiguresTheirRatiosAndTheGoals(t *testing.T) {
	server := &fakeServer{}
	systems := []System{&fake{name: "quick", server: server, factor: 1}, &fake{name: "slow", server: server, factor: 4}}
	lines := 0
	figures, err := Run(t.Context(), server, systems, Options{
		Jobs: 100, Singles: 10, Producers: 2, Concurrencies: []int{1, 2}, Rounds: 2,
		Progress: func(string) { lines++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	if lines != 12 || server.emptied != 12 {
		t.Errorf("%d lines, emptied %d times; want 12 each", lines, server.emptied)
	}
	rate := func(f *Figures) float64 { best, _ := f.BestProcessing(); return best }
	single := func(f *Figures) float64 { return f.Single }
	var out strings.Builder
	err = WriteTable(&out, figures, []Goal{
		AtLeastTimes(4, "four times", "slow", rate),
		AtLeastTimes(5, "five times", "slow", rate),
		AtLeastTimes(1, "once", "missing", rate),
		AtLeast(1000, "enough", single),
		AtMost(50, "little", func(f *Figures) float64 { return float64(f.Memory) }),
		Either("one of them", AtLeast(2000, "", single), AtLeastTimes(3, "", "slow", single)),
		Either("the one that can be measured", AtLeast(2000, "", single), AtLeastTimes(3, "", "missing", single)),
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `                                      quick     slow  quick/slow
          process, 1 at once (jobs/s)  1,000      250       4.00×
          process, 2 at once (jobs/s)  2,000      500       4.00×
               process, best (jobs/s)  2,000      500       4.00×
          enqueue one by one (jobs/s)  1,000      250       4.00×
          enqueue in batches (jobs/s)  1,000      250       4.00×
   server time per job, commands (µs)  1000.0  4000.0       0.25×
        server time per job, all (µs)  2000.0  8000.0       0.25×
           memory per waiting job (B)    100      400       0.25×

Goals of quick
  four times                    4.00×         met
  five times                    4.00×         missed
  once                                        not measured
  enough                        1,000         met
  little                        100.0         missed
  one of them                   1,000, 4.00×  met
  the one that can be measured  1,000         missed
`
	if fields(out.String()) != fields(want) {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// fields makes texts comparable whose columns are aligned differently.
func fields(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestAFailureNamesTheSystemAndEndsTheRun(t *testing.T) {
	server, broken := &fakeServer{}, errors.New("broken")
	_, err := Run(t.Context(), server, []System{&fake{name: "poor", server: server, factor: 1, err: broken}},
		Options{Jobs: 1, Singles: 1, Producers: 1, Concurrencies: []int{1}, Rounds: 1})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "poor") {
		t.Errorf("error %v", err)
	}
}
