// Command growth shows whether what a store does costs the same whatever it holds: it
// measures each operation on an empty store and on one with 100,000 delayed jobs,
// 100,000 of another name in the same queue, 100,000 finished ones, an open flow of
// 100,000 children, and 100,000 dedup keys.
//
//	go run ./growth [-store redis|postgres|sqlite|memory] [-rows 100000] [-finished 1000000] [-each]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

func main() {
	storeName := flag.String("store", "redis", "store to measure: "+strings.Join(targetNames(), " or "))
	rows := flag.Int("rows", 100_000, "rows of each kind in the full store")
	finished := flag.Int("finished", 0, "finished jobs in the full store; 0: as many as -rows")
	calls := flag.Int("calls", 40, "calls of each operation")
	each := flag.Bool("each", false, "measure with each kind of row alone, too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *storeName, amounts{*rows, *finished}, *calls, *each)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// fewRows is how many rows of each kind the empty store holds: two pages of a list.
const fewRows = 100

// amounts are how many rows the full store holds.
type amounts struct {
	rows     int // of each kind
	finished int // of that kind; 0: rows
}

func (a amounts) of(l load) int {
	if l.name == finishedLoad && a.finished > 0 {
		return a.finished
	}
	return a.rows
}

func (a amounts) String() string {
	text := fmt.Sprintf("%d rows of each kind", a.rows)
	if a.finished > 0 {
		text += fmt.Sprintf(", %d of finished jobs", a.finished)
	}
	return text
}

// setting is what the store holds while the operations are measured.
type setting struct {
	name  string
	loads []load
	keep  int64 // how many jobs the kept group holds
}

func settings(each bool) []setting {
	all := []setting{{name: "empty", keep: 10}}
	if each {
		for _, l := range loads {
			all = append(all, setting{name: l.name, loads: []load{l}, keep: 1000})
		}
	}
	return append(all, setting{name: "full", loads: loads, keep: 1000})
}

func run(ctx context.Context, storeName string, amounts amounts, calls int, each bool) (err error) {
	target, err := newTarget(storeName)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := target.close(); err == nil {
			err = closeErr
		}
	}()
	var columns []column
	for _, s := range settings(each) {
		measured, err := measure(ctx, target, s, amounts, calls)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		columns = append(columns, measured)
	}
	fmt.Printf("%s, %v: %s per item, in µs, in the median of %d calls with %d items\n\n",
		target.name(), amounts, target.measures(), calls, batch)
	return writeTable(os.Stdout, columns)
}

// measure fills a fresh store and measures every operation on it.
func measure(ctx context.Context, target target, s setting, amounts amounts, calls int) (column, error) {
	store, meter, err := target.fresh(ctx)
	if err != nil {
		return column{}, err
	}
	defer store.Close()
	b := &bed{ctx: ctx, store: store, meter: meter, keep: s.keep, column: column{setting: s.name}, now: beginning}
	start := time.Now()
	for _, l := range loads {
		// Every store has a few rows of each kind, so that a first page is as long on
		// the empty one.
		size := fewRows
		if slices.ContainsFunc(s.loads, func(full load) bool { return full.name == l.name }) {
			size = amounts.of(l)
		}
		if err := l.fill(b, size); err != nil {
			return column{}, fmt.Errorf("fill with %s: %w", l.name, err)
		}
	}
	if err := b.fillKept(); err != nil {
		return column{}, err
	}
	fmt.Fprintf(os.Stderr, "%s: filled in %v\n", s.name, time.Since(start).Round(time.Millisecond))
	if err := meter.reset(); err != nil {
		return column{}, err
	}
	for _, scenario := range scenarios {
		for range calls {
			if err := scenario.run(b); err != nil {
				return column{}, fmt.Errorf("%s: %w", scenario.name, err)
			}
		}
	}
	err = b.step("settle early, the open flow", 1, func() error {
		return refused(store.Cancel(ctx, b.now, []string{b.openFlow}))
	})
	if err != nil {
		return column{}, err
	}
	b.column.worst, err = meter.worst()
	return b.column, err
}
