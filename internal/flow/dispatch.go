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
// What it does not get to, for an error or the end of ctx, the sweep does.
func (s Stores) Dispatch(ctx context.Context, parent Store, flowID string, children []driver.StagedChild) error {
	parked, err := isParked(ctx, parent, flowID)
	var errs []error
	for len(children) > 0 && parked && err == nil {
		chunk := children[:min(dispatchChunk, len(children))]
		children = children[len(chunk):]
		byStore := groupByStore(chunk, func(c driver.StagedChild) string { return c.StoreKey })
		for key, group := range byStore {
			if err := s.enqueue(ctx, key, group); err != nil {
				errs = append(errs, err)
			}
		}
		if parked, err = isParked(ctx, parent, flowID); err == nil && !parked {
			for key, group := range byStore {
				if err := s.cancelChildren(ctx, key, group); err != nil {
					errs = append(errs, err)
				}
			}
		}
	}
	return errors.Join(append(errs, err)...)
}

func (s Stores) enqueue(ctx context.Context, key string, children []driver.StagedChild) error {
	store, err := s.find(key)
	if err != nil {
		return err
	}
	batch := make([]driver.EnqueueRequest, len(children))
	for i, c := range children {
		batch[i] = c.Request
	}
	return call(ctx, func(ctx context.Context) error {
		_, err := store.Driver.Enqueue(ctx, store.Now(), batch)
		return err
	})
}

func (s Stores) cancelChildren(ctx context.Context, key string, children []driver.StagedChild) error {
	store, err := s.find(key)
	if err != nil {
		return err
	}
	ids := make([]string, len(children))
	for i, c := range children {
		ids[i] = c.Request.ID
	}
	return call(ctx, func(ctx context.Context) error {
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

func isParked(ctx context.Context, parent Store, flowID string) (parked bool, err error) {
	err = call(ctx, func(ctx context.Context) error {
		jobs, err := parent.Driver.Jobs(ctx, []string{flowID})
		parked = err == nil && jobs[0] != nil && jobs[0].State == driver.WaitingChildren
		return err
	})
	return parked, err
}

// call makes one call to a store, under a time limit.
func call(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return do(ctx)
}

// groupByStore splits items by their store, keeping their order within it.
func groupByStore[T any](items []T, key func(T) string) map[string][]T {
	groups := make(map[string][]T, 1)
	for _, item := range items {
		groups[key(item)] = append(groups[key(item)], item)
	}
	return groups
}
