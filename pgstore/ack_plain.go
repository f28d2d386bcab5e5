package pgstore

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
)

// fastAck remembers whether acks of plain jobs were in one statement lately.
type fastAck struct {
	skip atomic.Int32 // how many batches are still to go without a try
}

// skipAfterMiss is how many batches go the general way after one that was not plain.
const skipAfterMiss = 20

// ackPlain settles a batch of ends in one statement and one round trip, if all of its
// jobs are plain: nothing follows from their end but that their dedup keys are free.
// It returns which items are left to be settled in the general way: all of them if one
// was not plain, and else those whose row was changed by somebody else meanwhile.
func (s *Store) ackPlain(ctx context.Context, p patience, now driver.Time, batch []driver.Ack, results []driver.AckResult) (left []int, err error) {
	if s.fastAck.skip.Load() > 0 {
		s.fastAck.skip.Add(-1)
		return allOf(batch), nil
	}
	n := len(batch)
	ids, tokens, states, exits := make([]string, n), make([]string, n), make([]int16, n), make([]*string, n)
	seen := make(map[string]struct{}, n)
	for i := range batch {
		a := &batch[i]
		state := driver.Completed
		switch a.Kind {
		case driver.AckComplete:
		case driver.AckFail:
			state = driver.Failed
		default:
			return allOf(batch), nil
		}
		if _, again := seen[a.ID]; again {
			return allOf(batch), nil
		}
		seen[a.ID] = struct{}{}
		ids[i], tokens[i], states[i], exits[i] = a.ID, a.Token, int16(state), optionalBytes(a.Exit)
		results[i] = driver.AckResult{State: state}
	}
	plain := true
	statement := statement("ack_plain")
	err = s.pipelineAs(ctx, p, "Ack", now, func(t *tx) {
		plain, left = true, nil
		t.counted = true
		if s.deleteFinished {
			statement = "ack_plain_delete"
			t.exec("jobs_lock", ids)
			t.query("watches_tell_plain", t.readTold, ids, tokens, states, exits, now)
		}
		t.query(statement, func(rows pgx.Rows) error {
			var at int
			var exists, fit bool
			if err := rows.Scan(&at, &exists, &fit); err != nil {
				return err
			}
			plain = plain && fit
			if exists {
				left = append(left, at-1)
			} else {
				results[at-1] = driver.AckResult{Err: driver.ErrNotFound}
			}
			return nil
		}, ids, tokens, states, exits, now, s.statMinute(now), driver.StatLongest)
		if !s.deleteFinished {
			t.query("watches_end", t.readTold, ids, now)
		}
	})
	if err == nil && !plain {
		s.fastAck.skip.Store(skipAfterMiss)
		return allOf(batch), nil
	}
	return left, err
}
