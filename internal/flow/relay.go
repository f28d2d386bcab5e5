package flow

import (
	"context"
	"errors"

	"github.com/braidmq/braid/driver"
)

// Relay brings the outcomes of children in one store to their parents in another,
// or the same.
type Relay struct {
	From, To Store
	// Recorded is told of every page that was brought: how many reports, and whether
	// one may have settled a flow early. Nil: nobody.
	Recorded func(reports int, settledEarly bool)
}

const (
	// relayPage is how many outcomes travel at once.
	relayPage = driver.ChunkReports
	// relayHold is how long other relays leave what this one is bringing.
	relayHold driver.Millis = 5000
)

// Drain brings everything that is there. A report that cannot be recorded stays,
// and holds up none behind it; the error tells of it.
func (r *Relay) Drain(ctx context.Context) error { return r.drain(ctx, relayHold) }

// DrainAll is Drain without regard to what other relays are bringing just now.
func (r *Relay) DrainAll(ctx context.Context) error { return r.drain(ctx, 0) }

func (r *Relay) drain(ctx context.Context, hold driver.Millis) error {
	var left error
	after := ""
	for {
		var page []driver.OutboxEntry
		err := call(ctx, func(ctx context.Context) (err error) {
			page, err = r.From.Driver.PeekOutbox(ctx, r.From.Now(), driver.PeekRequest{
				StoreKeys: []string{r.To.Key}, Limit: relayPage, After: after, Hold: hold,
			})
			return err
		})
		if err != nil || len(page) == 0 {
			return errors.Join(left, err)
		}
		after = page[len(page)-1].ID
		recorded, err := r.record(ctx, page)
		left = errors.Join(left, err)
		if len(recorded) > 0 {
			err = call(ctx, func(ctx context.Context) error { return r.From.Driver.DeleteOutbox(ctx, recorded) })
			if err != nil {
				return errors.Join(left, err) // they are brought again, which changes nothing
			}
		}
		if left != nil && driver.Retryable(left) {
			return left // the store is down: the rest would fare no better
		}
	}
}

// record hands a page to the parents' store, item by item if the page as a whole is
// refused, and returns the entries that are recorded.
func (r *Relay) record(ctx context.Context, page []driver.OutboxEntry) (recorded []string, err error) {
	reports := make([]driver.ChildReport, len(page))
	for i, entry := range page {
		reports[i] = entry.Report
	}
	results, err := r.To.record(ctx, reports)
	switch {
	case err == nil:
		for _, entry := range page {
			recorded = append(recorded, entry.ID)
		}
		if r.Recorded != nil {
			r.Recorded(len(page), settledEarly(reports, results))
		}
		return recorded, nil
	case len(page) == 1 || driver.Retryable(err) || driver.OutcomeUnknown(err) || ctx.Err() != nil:
		return nil, err
	}
	err = nil
	for i := range page {
		one, oneErr := r.record(ctx, page[i:i+1])
		recorded = append(recorded, one...)
		err = errors.Join(err, oneErr)
	}
	return recorded, err
}

func (s Store) record(ctx context.Context, reports []driver.ChildReport) (results []driver.RecordResult, err error) {
	err = call(ctx, func(ctx context.Context) (err error) {
		results, err = s.Driver.RecordChildResults(ctx, s.Now(), reports)
		return err
	})
	return results, err
}

// settledEarly reports whether a failure was among the reports when a flow settled:
// then children may be left to cancel.
func settledEarly(reports []driver.ChildReport, results []driver.RecordResult) bool {
	settled, failed := false, false
	for i, result := range results {
		settled = settled || result.ParentSettled
		failed = failed || result.Applied && reports[i].Outcome == driver.ChildFailed
	}
	return settled && failed
}
