package storekit

import (
	"errors"

	"github.com/braidmq/braid/driver"
)

// ChunkEnd returns the end of the chunk that begins at from: as many items as one
// transaction may take, by number and by size. A larger item goes alone.
func ChunkEnd(from, total, most int, size func(i int) int) int {
	bytes := 0
	to := from
	for ; to < total && to-from < most; to++ {
		bytes += size(to)
		if bytes > driver.ChunkBytes && to > from {
			break
		}
	}
	return to
}

// Partial is what a batch returns whose first done items were applied before err.
func Partial(done int, err error) error {
	if done == 0 || err == nil {
		return err
	}
	return &driver.PartialError{Applied: done, Err: err}
}

// IsItemRefusal reports whether an error refuses one item of a batch, of which then
// nothing was applied.
func IsItemRefusal(err error) bool {
	var state *driver.StateError
	return errors.Is(err, driver.ErrNotFound) || errors.Is(err, driver.ErrLockLost) ||
		errors.Is(err, driver.ErrInvalid) || errors.As(err, &state)
}

// IsRefusal reports whether callers get an error as it is: one of the errors of package
// driver, or one of others.
func IsRefusal(err error, others ...error) bool {
	var known *driver.StoreError
	var partial *driver.PartialError
	if IsItemRefusal(err) || errors.As(err, &known) || errors.As(err, &partial) {
		return true
	}
	for _, sentinel := range append(others, driver.ErrClosed, driver.ErrFormatTooNew, driver.ErrListOrderUnsupported) {
		if errors.Is(err, sentinel) {
			return true
		}
	}
	return false
}
