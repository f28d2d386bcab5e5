package drivertest

import (
	"context"
	"errors"
	"strings"

	"github.com/braidmq/braid/driver"
)

// Stores that break a rule about limits, each one rule.

// nulsAreErrors answers a lookup that has a NUL as a database does that cannot take one.
func nulsAreErrors(b *broken) {
	b.position = func(ctx context.Context, id string) (driver.Opt[int], error) {
		if strings.Contains(id, "\x00") {
			return driver.Opt[int]{}, &driver.StoreError{Op: "Position", Err: errors.New("invalid byte sequence")}
		}
		return b.Store.Position(ctx, id)
	}
}

// forgivesCursors begins again where a cursor is none.
func forgivesCursors(b *broken) {
	b.list = func(ctx context.Context, req driver.ListRequest) (driver.ListResult, error) {
		result, err := b.Store.List(ctx, req)
		if errors.Is(err, driver.ErrInvalid) {
			req.Cursor = ""
			return b.Store.List(ctx, req)
		}
		return result, err
	}
}

// cronsWrap keeps as many bytes of a cron as two bytes can tell.
func cronsWrap(b *broken) {
	b.upsert = func(ctx context.Context, s driver.Schedule) (driver.Schedule, error) {
		s.Cron = s.Cron[:len(s.Cron)%(1<<16)]
		return b.Store.UpsertSchedule(ctx, s)
	}
}
