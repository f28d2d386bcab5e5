package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/engine"
	"github.com/braidmq/braid/internal/flow"
	"github.com/braidmq/braid/internal/flowcheck"
	"github.com/braidmq/braid/internal/storeurl"
)

const doctorHelp = `doctor asks stores how they are: whether they answer, which format they have, how far
their clock is from this machine's, how many jobs and children's outcomes they hold.

--deep also reads every job and every flow, and checks that they agree: counters with
rows, children with their parents, counts with lists. It takes long on a large store,
and calls what is under way at the moment a fault, so stop the workers first.

It exits with 1 if something is wrong.`

func newDoctor() *cobra.Command {
	var (
		store        string
		others       []string
		deep, asJSON bool
	)
	cmd := &cobra.Command{
		Use:    "doctor",
		Short:  "Check how stores are",
		Long:   doctorHelp,
		Hidden: true,
		Args:   atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			stores, closeAll, err := openStores(cmd.Context(), store, others)
			defer func() { err = errors.Join(err, closeAll()) }()
			if err != nil {
				return err
			}
			found, err := examine(cmd.Context(), stores, deep)
			if err != nil {
				return err
			}
			if err := found.write(cmd.OutOrStdout(), asJSON); err != nil {
				return err
			}
			if found.Flows != nil && !found.Flows.Clean() {
				return fmt.Errorf("braid: %d things do not agree", len(found.Flows.Problems))
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&store, "store", storeurl.Default, "`URL` of the store to look at")
	flags.StringArrayVar(&others, "with", nil, "`NAME=URL` of another store of the program; may be repeated")
	flags.BoolVar(&deep, "deep", false, "read every job and flow, and check that they agree")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// examination is what doctor found.
type examination struct {
	Stores []storeExamination `json:"stores"`
	Flows  *flowcheck.Report  `json:"flows,omitempty"` // nil: not looked at
}

type storeExamination struct {
	Name     string        `json:"name"`
	Kind     string        `json:"kind"`
	Location string        `json:"location"`
	Format   int           `json:"format"`
	Answer   time.Duration `json:"answerNanoseconds"`
	// ClockAhead is how far the store's clock is ahead of this machine's.
	ClockAhead time.Duration `json:"clockAheadNanoseconds"`
	Jobs       driver.Counts `json:"jobs"`
	Paused     []string      `json:"pausedQueues"`
	Outbox     int64         `json:"outbox"`
}

func examine(ctx context.Context, stores map[string]driver.Store, deep bool) (examination, error) {
	var found examination
	all := make(flow.Stores, len(stores))
	for _, name := range slices.Sorted(maps.Keys(stores)) {
		store := stores[name]
		clock := engine.NewClock(store)
		all[name] = flow.Store{Key: name, Driver: store, Now: clock.Now}
		one, err := examineStore(ctx, name, store, clock)
		if err != nil {
			return found, err
		}
		found.Stores = append(found.Stores, one)
	}
	if deep {
		report, err := flowcheck.Check(ctx, all)
		if err != nil {
			return found, err
		}
		found.Flows = &report
	}
	return found, nil
}

func examineStore(ctx context.Context, name string, store driver.Store, clock *engine.Clock) (storeExamination, error) {
	info := store.Info()
	found := storeExamination{Name: name, Kind: info.Kind, Location: info.Location, Format: info.Format}
	began := time.Now()
	if err := store.Ping(ctx); err != nil {
		return found, err
	}
	found.Answer = time.Since(began)
	found.ClockAhead = clock.Now().Sub(driver.TimeOf(time.Now())).Std()
	var err error
	if found.Jobs, err = store.Counts(ctx, ""); err != nil {
		return found, err
	}
	if found.Paused, err = store.PausedQueues(ctx); err != nil {
		return found, err
	}
	backlog, err := store.OutboxBacklog(ctx)
	found.Outbox = backlog.Entries
	return found, err
}

func (e examination) write(w io.Writer, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(e)
	}
	for _, s := range e.Stores {
		fmt.Fprintf(w, "store %s: %s at %s, format %d\n", s.Name, s.Kind, s.Location, s.Format)
		fmt.Fprintf(w, "  answers in %s; its clock is %s ahead of this machine's\n", s.Answer.Round(time.Microsecond), s.ClockAhead)
		for _, state := range driver.States {
			if n := *s.Jobs.Of(state); n > 0 {
				fmt.Fprintf(w, "  %d %s\n", n, state)
			}
		}
		if len(s.Paused) > 0 {
			fmt.Fprintf(w, "  paused queues: %q\n", s.Paused)
		}
		if s.Outbox > 0 {
			fmt.Fprintf(w, "  %d outcomes of children on their way\n", s.Outbox)
		}
	}
	if e.Flows != nil {
		_, err := fmt.Fprintln(w, e.Flows)
		return err
	}
	return nil
}
