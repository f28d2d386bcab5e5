package drivertest

import (
	"context"
	"sync"

	"github.com/braidmq/braid/driver"
)

// retrying returns a breakage that does something with each failed job that an
// operator has retried.
func retrying(then func(b *broken, now driver.Time, j *driver.Job)) func(b *broken) {
	return func(b *broken) {
		b.retry = func(ctx context.Context, now driver.Time, ids []string) ([]driver.OperateResult, error) {
			results, err := b.Store.Retry(ctx, now, ids)
			for i, r := range results {
				if r.Err == nil {
					then(b, now, b.real(ids[i]))
				}
			}
			return results, err
		}
	}
}

// retryTakesWindows lets a retried job hold the key of its window until it has
// finished.
func retryTakesWindows(b *broken) {
	type scoped struct{ name, key string }
	var mu sync.Mutex
	owners := map[scoped]string{}
	retrying(func(_ *broken, _ driver.Time, j *driver.Job) {
		mu.Lock()
		defer mu.Unlock()
		if j.DedupeTTL {
			owners[scoped{j.Name, j.DedupeKey}] = j.ID
		}
	})(b)
	b.enqueue = func(ctx context.Context, now driver.Time, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
		var results []driver.EnqueueResult
		for _, r := range batch {
			if r.Dedupe != nil {
				mu.Lock()
				owner := b.real(owners[scoped{r.Name, r.Dedupe.Key}])
				mu.Unlock()
				if owner != nil && !owner.State.Terminal() {
					results = append(results, driver.EnqueueResult{ID: owner.ID, Duplicate: true})
					continue
				}
			}
			answer, err := b.Store.Enqueue(ctx, now, []driver.EnqueueRequest{r})
			if err != nil {
				return results, err
			}
			results = append(results, answer[0])
		}
		return results, nil
	}
}

// retryRestartsWindows opens the window of a retried job anew.
func retryRestartsWindows(b *broken) {
	retrying(func(b *broken, now driver.Time, j *driver.Job) {
		r := request("probe", window(j.DedupeKey, 1000), extending)
		if _, err := b.Store.Enqueue(context.Background(), now, []driver.EnqueueRequest{r}); err != nil {
			panic(err)
		}
	})(b)
}
