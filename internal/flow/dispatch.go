package flow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/braidmq/braid/driver"
)

const (
	// dispatchChunk is how many children are enqueued between two looks at the parent.
	dispatchChunk = 1000
	callTimeout   = 10 * time.Second
)

// Dispatch enqueues the children of a parked parent in their stores. Before and
// after each chunk it looks whether the parent is still parked; if not, it cancels
// the chunk, because an early settle may have cascaded before the chunk was there.
// Calls that fail are repeated for as long as patience lasts. What it does not get to,
// for an error or the end of ctx, the sweep does.
func (s Stores) Dispatch(ctx context.Context, parent Store, flowID string, children []driver.StagedChild, patience time.Duration) error {
	until := time.Now().Add(patience)
	parked, err := isParked(ctx, until, parent, flowID)
	var errs []error
	for len(children) > 0 && parked && err == nil {
		chunk := children[:min(dispatchChunk, len(children))]
		children = children[len(chunk):]
		byStore := groupByStore(chunk, func(c driver.StagedChild) string { return c.StoreKey })
		for key, group := range byStore {
			if err := s.enqueue(ctx, until, key, group); err != nil {
				errs = append(errs, err)
			}
		}
		if parked, err = isParked(ctx, until, parent, flowID); err == nil && !parked {
			for key, group := range byStore {
				if err := s.cancelChildren(ctx, until, key, group); err != nil {
					errs = append(errs, err)
				}
			}
		}
	}
	return errors.Join(append(errs, err)...)
}

func (s Stores) enqueue(ctx context.Context, until time.Time, key string, children []driver.StagedChild) error {
	store, err := s.find(key)
	if err != nil {
		return err
	}
	return apart(children, func(children []driver.StagedChild) error {
		batch := make([]driver.EnqueueRequest, len(children))
		for i, c := range children {
			batch[i] = c.Request
		}
		return insist(ctx, until, func(ctx context.Context) error {
			_, err := store.Driver.Enqueue(ctx, store.Now(), batch)
			return err
		})
	})
}

func (s Stores) cancelChildren(ctx context.Context, until time.Time, key string, children []driver.StagedChild) error {
	store, err := s.find(key)
	if err != nil {
		return err
	}
	ids := make([]string, len(children))
	for i, c := range children {
		ids[i] = c.Request.ID
	}
	return insist(ctx, until, func(ctx context.Context) error {
		_, err := store.Driver.Cancel(ctx, store.Now(), ids)
		return err
	})
}

func (s Stores) find(key string) (Store, error) {
	store, ok := s[key]
	if !ok {
		return Store{}, fmt.Errorf("braid: a flow has children in store %q, which this program does not have; add it with braid.WithStore", key)
	}
	return store, nil
}

func isParked(ctx context.Context, until time.Time, parent Store, flowID string) (parked bool, err error) {
	err = insist(ctx, until, func(ctx context.Context) error {
		jobs, err := parent.Driver.Jobs(ctx, []string{flowID})
		parked = err == nil && jobs[0] != nil && jobs[0].State == driver.WaitingChildren
		return err
	})
	return parked, err
}

// insist makes a call, and repeats it until then while the store says that this can
// help. The call must be idempotent.
func insist(ctx context.Context, until time.Time, do func(context.Context) error) error {
	const shortest, longest = 20 * time.Millisecond, time.Second
	for rest := shortest; ; rest = min(2*rest, longest) {
		err := call(ctx, do)
		if err == nil || !driver.Retryable(err) || time.Now().Add(rest).After(until) {
			return err
		}
		select {
		case <-time.After(rest):
		case <-ctx.Done():
			return err
		}
	}
}

// call makes one call to a store, under a time limit.
func call(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return do(ctx)
}

// apart does something to items, all at once if it can. If that is refused for good, it
// halves them, until what is refused stands alone: one bad item holds up no other.
func apart[T any](items []T, do func([]T) error) error {
	err := do(items)
	if err == nil || len(items) == 1 || !refused(err) {
		return err
	}
	half := len(items) / 2
	return errors.Join(apart(items[:half], do), apart(items[half:], do))
}

// refused reports whether a store will not do what it was asked, however often.
func refused(err error) bool {
	return !driver.Retryable(err) && !driver.OutcomeUnknown(err) && !errors.Is(err, driver.ErrClosed) &&
		!errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// groupByStore splits items by their store, keeping their order within it.
func groupByStore[T any](items []T, key func(T) string) map[string][]T {
	groups := make(map[string][]T, 1)
	for _, item := range items {
		groups[key(item)] = append(groups[key(item)], item)
	}
	return groups
}
