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
	"github.com/braidmq/braid/internal/plural"
)

// examineDeep reads every job and flow of stores, and checks that they agree.
func examineDeep(cmd *cobra.Command, url string, others []string, asJSON bool) (err error) {
	if url == "" || isServer(url) {
		return usagef("--deep reads stores themselves; name one by its URL with --store")
	}
	stores, closeAll, err := openStores(cmd.Context(), url, others)
	defer func() { err = errors.Join(err, closeAll()) }()
	if err != nil {
		return err
	}
	found, err := examine(cmd.Context(), stores)
	if err != nil {
		return err
	}
	if err := found.write(cmd.OutOrStdout(), asJSON); err != nil {
		return err
	}
	if !found.Flows.Clean() {
		n := int64(len(found.Flows.Problems)) + found.Flows.More
		return fmt.Errorf("braid: %s not agree", plural.Of(n, "thing does", "things do"))
	}
	return nil
}

// examination is what a deep look found.
type examination struct {
	Stores []storeExamination `json:"stores"`
	Flows  flowcheck.Report   `json:"flows"`
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

func examine(ctx context.Context, stores map[string]driver.Store) (examination, error) {
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
	var err error
	found.Flows, err = flowcheck.Check(ctx, all)
	return found, err
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
			fmt.Fprintf(w, "  %s on the way\n", plural.Of(s.Outbox, "outcome of a child", "outcomes of children"))
		}
	}
	_, err := fmt.Fprintln(w, &e.Flows)
	return err
}
