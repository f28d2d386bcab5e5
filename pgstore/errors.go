package pgstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/migrate"
	"github.com/braidmq/braid/internal/storekit"
)

// ErrNoTables is matched when the tables are not there (any more): the schema was
// never migrated, or another one is looked at.
var ErrNoTables = errors.New("braid: the database has no Braid tables in this schema; " + migrateHint)

// SQLSTATE codes.
const (
	codeSerialization   = "40001"
	codeDeadlock        = "40P01"
	codeLockNotThere    = "55P03"
	codeUniqueViolation = "23505"
	codeNoTable         = "42P01"
	codeReadOnly        = "25006"
	codeQueryCancelled  = "57014"
	codeNotText         = "22021" // a text with a NUL, or that is not UTF-8
	codeTooLong         = "54000" // such as for an index
	codeProtocol        = "08P01"
)

// sqlState returns the server's code of an error, "" if it is not the server's.
func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		if pg.Code == codeProtocol && pg.Message == "invalid message format" {
			// In pgx's simple mode, which writes arguments into the statement: a NUL ends it.
			return codeNotText
		}
		return pg.Code
	}
	return ""
}

// errCollision makes a transaction begin again: what it had read is not so any more.
var errCollision = errors.New("another transaction was quicker")

// errHeld is that somebody else has a row locked that the transaction does not wait for.
var errHeld = errors.New("another transaction has the job")

// isHeld reports whether a transaction failed because another one holds what it needs.
func isHeld(err error) bool { return sqlState(err) == codeLockNotThere || errors.Is(err, errHeld) }

// isCollision reports whether a transaction failed for another one, so that nothing of
// it was applied and it may succeed if it is tried again.
func isCollision(err error) bool {
	switch sqlState(err) {
	case codeSerialization, codeDeadlock:
		return true
	}
	return isHeld(err) || errors.Is(err, errCollision)
}

// storeError is what callers get for an error of the operation op. The typed refusals
// of package driver and the errors of contexts pass through it. changing tells that the
// statements that failed may have been committed.
func (s *Store) storeError(ctx context.Context, op string, err error, changing bool) error {
	if err == nil {
		return nil
	}
	select {
	case <-s.closing:
		return driver.ErrClosed
	default:
	}
	if ctx.Err() != nil {
		if isHeld(err) { // nothing was applied, which those who see an end must assume
			return &driver.StoreError{Op: op, Err: errors.Join(driver.ErrContended, context.Cause(ctx)), Retryable: true}
		}
		return context.Cause(ctx)
	}
	if isRefusal(err) {
		return err
	}
	failure := &driver.StoreError{Op: op, Err: err}
	code := sqlState(err)
	if refused := refusedText(code); refused != nil {
		return refused
	}
	switch {
	case code == codeNoTable:
		failure.Err = errors.Join(ErrNoTables, err)
	case isHeld(err):
		failure.Err, failure.Retryable = errors.Join(driver.ErrContended, err), true
	case errors.Is(err, errCollision):
		failure.Retryable = true
	case code == "":
		// The network, or a server that is not there.
		failure.Retryable = true
		failure.OutcomeUnknown = changing && wasSent(err)
	case retryableCode(code):
		failure.Retryable = true
		// A server that goes down may have committed before it said so.
		failure.OutcomeUnknown = changing && (code[:2] == "57" && code != codeQueryCancelled || code[:2] == "08")
	}
	return failure
}

// refusedText returns how a text is refused that the server cannot take, nil if it was
// not for that. What is above the seam lets none through.
func refusedText(code string) error {
	switch code {
	case codeNotText:
		return &driver.InvalidError{Field: "text", Reason: "in the request is not UTF-8 without NUL; send it as such"}
	case codeTooLong:
		return &driver.InvalidError{Field: "text", Reason: "in the request is longer than Postgres can index; shorten it"}
	}
	return nil
}

// retryableCode reports whether the server may do the same later.
func retryableCode(code string) bool {
	switch code[:2] {
	case "08", "40", "53", "57", "58", "55":
		return true
	}
	return code == codeReadOnly
}

func isRefusal(err error) bool { return storekit.IsRefusal(err, migrate.ErrPending) }
