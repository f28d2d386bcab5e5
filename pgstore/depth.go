package pgstore

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
)

// SampleDepth implements [driver.StatsKeeper].
func (s *Store) SampleDepth(ctx context.Context, now driver.Time) error {
	counts, err := s.Counts(ctx, "")
	if err != nil {
		return err
	}
	encoded, err := json.Marshal(counts)
	if err != nil {
		return s.storeError(ctx, "SampleDepth", err, false)
	}
	return s.pipeline(ctx, "SampleDepth", now, func(t *tx) {
		t.exec("depths_delete", now.Add(-driver.StatsKept))
		if !s.withoutStats {
			t.exec("depth_put", now.Minute(), string(encoded))
		}
	})
}

// Depths implements [driver.StatsKeeper].
func (s *Store) Depths(ctx context.Context, from, to driver.Time) ([]driver.Depth, error) {
	var found []driver.Depth
	err := s.pipeline(ctx, "Depths", 0, func(t *tx) {
		found = nil
		t.query("depths_range", func(rows pgx.Rows) error {
			var depth driver.Depth
			var counts string
			if err := rows.Scan((*int64)(&depth.Minute), &counts); err != nil {
				return err
			}
			err := json.Unmarshal([]byte(counts), &depth.Counts)
			found = append(found, depth)
			return err
		}, from, to)
	})
	return found, err
}
