package maintain

import (
	"context"
	"time"

	"github.com/braidmq/braid/driver"
)

// pageFunc works off one page and reports whether there may be more.
type pageFunc func(ctx context.Context) (more bool, err error)

// paged is a loop's work in pages: until nothing is left, or half of the interval
// is used up. What is left then comes in the next run.
func (m *Maintainer) paged(interval time.Duration, page pageFunc) func(context.Context) error {
	return func(ctx context.Context) error {
		for begin := time.Now(); ; {
			more, err := page(ctx)
			if err != nil || !more || time.Since(begin) >= interval/2 {
				return err
			}
		}
	}
}

// recoverStalled works off one page of jobs whose lock has run out.
func (m *Maintainer) recoverStalled(ctx context.Context) (bool, error) {
	var result driver.RecoverResult
	err := m.call(ctx, func(ctx context.Context) (err error) {
		result, err = m.cfg.Store.RecoverStalled(ctx, m.cfg.Now(),
			driver.RecoverRequest{MaxStalled: m.cfg.MaxStalled, Limit: m.pageSize})
		return err
	})
	if len(result.Jobs) > 0 {
		failed := 0
		for _, job := range result.Jobs {
			if job.Failed {
				failed++
			}
		}
		m.cfg.Observer.StallsRecovered(len(result.Jobs)-failed, failed)
		if m.cfg.OnRecovered != nil {
			m.cfg.OnRecovered(result.Jobs)
		}
	}
	return result.More, err
}

// stats samples how many jobs there are, and then deletes stats that are too old.
func (m *Maintainer) stats(sweep func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err := m.call(ctx, func(ctx context.Context) error { return m.cfg.Store.SampleDepth(ctx, m.cfg.Now()) })
		if err != nil {
			return err
		}
		return sweep(ctx)
	}
}

// sweep makes a page of one of the store's deleting sweeps.
func (m *Maintainer) sweep(
	work func(ctx context.Context, now driver.Time, limit int) (driver.SweepResult, error), observe func(n int),
) pageFunc {
	return func(ctx context.Context) (bool, error) {
		var result driver.SweepResult
		err := m.call(ctx, func(ctx context.Context) (err error) {
			result, err = work(ctx, m.cfg.Now(), m.pageSize)
			return err
		})
		if result.Deleted > 0 {
			observe(result.Deleted)
		}
		return result.More, err
	}
}
