package driver

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Sentinels for errors.Is. The errors of this package that carry details match
// the sentinel of their kind.
var (
	// ErrNotFound: there is no such job.
	ErrNotFound = errors.New("braid: not found")
	// ErrLockLost: the job is not active under that token (any more).
	ErrLockLost = errors.New("braid: lock lost")
	// ErrNotRetryable, ErrNotCancellable and ErrNotPromotable are matched by a
	// [*StateError] of that operation.
	ErrNotRetryable   = errors.New("braid: not retryable")
	ErrNotCancellable = errors.New("braid: not cancellable")
	ErrNotPromotable  = errors.New("braid: not promotable")
	// ErrInvalid is matched by an [*InvalidError].
	ErrInvalid = errors.New("braid: invalid request")
	// ErrListOrderUnsupported: the store cannot serve this order with these filters.
	ErrListOrderUnsupported = errors.New("braid: the store cannot list in this order with these filters")
	// ErrListIndexDisabled: the list needs an index that was switched off.
	ErrListIndexDisabled = errors.New("braid: the list needs an index that is switched off")
	// ErrFormatTooNew: the store was written by a newer version of Braid.
	ErrFormatTooNew = errors.New("braid: the store's format is newer than this program")
	// ErrContended: an item of a grouped batch collides with another transaction that is
	// still open. Nothing of what the error is about was applied; sent one by one, or again
	// later, only the item that collides waits.
	ErrContended = errors.New("braid: an item collides with an open transaction")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("braid: the store is closed")
)

// StateError refuses an operation because of the state that the job is in. It
// matches ErrNotRetryable, ErrNotCancellable or ErrNotPromotable.
type StateError struct {
	Err   error // the sentinel
	ID    string
	State State
}

func (e *StateError) Error() string {
	return e.Err.Error() + ": job " + strconv.Quote(e.ID) + " is " + e.State.String()
}

// Unwrap returns the sentinel.
func (e *StateError) Unwrap() error { return e.Err }

// InvalidError refuses a request, before anything of it was stored. It matches
// ErrInvalid.
type InvalidError struct {
	Field  string // the field's name, as the API spells it
	Value  string // the refused value
	Reason string // what is wrong, and what to write instead
}

func (e *InvalidError) Error() string {
	const most = 64
	value := strings.ToValidUTF8(e.Value, "\uFFFD")
	if len(value) > most {
		value = strings.ToValidUTF8(value[:most], "") + "…"
	}
	return fmt.Sprintf("braid: invalid %s %q: %s", e.Field, value, e.Reason)
}

// Is reports whether target is ErrInvalid.
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// StoreError is a failure in the database or on the way to it.
type StoreError struct {
	Op             string // the operation, as the interface names it: "Claim"
	Err            error  // the cause
	Retryable      bool   // whether the same call can succeed later
	OutcomeUnknown bool   // whether the operation may have been applied all the same
}

func (e *StoreError) Error() string {
	text := "braid: store: " + e.Op + ": " + e.Err.Error()
	if e.OutcomeUnknown {
		text += " (the outcome is unknown)"
	}
	return text
}

// Unwrap returns the cause.
func (e *StoreError) Unwrap() error { return e.Err }

// PartialError tells how far a batch got that failed between two chunks. It
// wraps the cause.
type PartialError struct {
	Applied int // the items before this index were applied
	Unknown int // the outcome of so many items after them is unknown
	Err     error
}

func (e *PartialError) Error() string {
	text := fmt.Sprintf("%v (items of the batch that were applied: the first %d", e.Err, e.Applied)
	if e.Unknown > 0 {
		text += fmt.Sprintf("; the outcome of the next %d is unknown", e.Unknown)
	}
	return text + ")"
}

// Unwrap returns the cause.
func (e *PartialError) Unwrap() error { return e.Err }

// Retryable reports whether err is a [StoreError] that says that trying again can
// help.
func Retryable(err error) bool {
	var se *StoreError
	return errors.As(err, &se) && se.Retryable
}

// OutcomeUnknown reports whether err is a [StoreError] that says that the
// operation may have been applied all the same.
func OutcomeUnknown(err error) bool {
	var se *StoreError
	return errors.As(err, &se) && se.OutcomeUnknown
}
