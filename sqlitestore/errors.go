package sqlitestore

import (
	"context"
	"errors"
	"strings"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/migrate"
	"github.com/braidmq/braid/internal/storekit"
)

// Sentinels for errors.Is. A [*driver.StoreError] wraps them with their cause.
var (
	// ErrBusy: another process, or a transaction of the caller's own, held the file's
	// write lock for longer than the busy timeout. Nothing of the call was applied.
	ErrBusy = errors.New("braid: the database is locked by another transaction")
	// ErrFull: the disk is full. Nothing of the call was applied; calls succeed again
	// when there is room.
	ErrFull = errors.New("braid: the disk is full")
	// ErrCorrupt: the file is damaged, or is no SQLite database.
	ErrCorrupt = errors.New("braid: the database file is damaged, or is no SQLite database")
	// ErrReadOnly: the file, its folder or its disk cannot be written.
	ErrReadOnly = errors.New("braid: the database is read-only")
	// ErrReplaced: the file was removed, or another put in its place, under an open store.
	// Nothing of the call was applied. Close the store, and open it on the right file.
	ErrReplaced = errors.New("braid: the database file was removed or replaced while it was open")
)

// SQLite's primary result codes.
const (
	codeBusy     = 5
	codeLocked   = 6
	codeReadOnly = 8
	codeIOErr    = 10
	codeCorrupt  = 11
	codeFull     = 13
	codeNotADB   = 26
)

// resultCode returns SQLite's primary result code of an error, 0 if it has none.
// Libraries that have no method Code are understood by their messages.
func resultCode(err error) int {
	var coded interface{ Code() int }
	if errors.As(err, &coded) {
		return coded.Code() & 0xff
	}
	text := err.Error()
	for fragment, code := range map[string]int{
		"database is locked": codeBusy, "database table is locked": codeLocked,
		"readonly database": codeReadOnly, "disk I/O error": codeIOErr,
		"disk image is malformed": codeCorrupt, "disk is full": codeFull, "not a database": codeNotADB,
	} {
		if strings.Contains(text, fragment) {
			return code
		}
	}
	return 0
}

// storeError is what callers get for an error of the operation op. The typed
// refusals of package driver and the errors of contexts pass through it.
func storeError(op string, err error) error {
	if err == nil || storekit.IsRefusal(err, context.Canceled, context.DeadlineExceeded, migrate.ErrPending) {
		return err
	}
	failure := &driver.StoreError{Op: op, Err: err}
	switch resultCode(err) {
	case codeBusy, codeLocked:
		failure.Err, failure.Retryable = errors.Join(ErrBusy, err), true
	case codeFull:
		failure.Err, failure.Retryable = errors.Join(ErrFull, err), true
	case codeCorrupt, codeNotADB:
		failure.Err = errors.Join(ErrCorrupt, err)
	case codeReadOnly:
		failure.Err = errors.Join(ErrReadOnly, err)
	case codeIOErr:
		failure.Retryable = true
	}
	return failure
}

// lost reports whether a connection that met the error shall not be used again.
func lost(err error) bool {
	switch resultCode(err) {
	case codeIOErr, codeCorrupt, codeNotADB:
		return true
	}
	return false
}
