package redisstore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

// cutter cuts a batch into chunks. Its zero value is at the beginning of the first.
type cutter struct {
	items, bytes int
}

// full reports whether the next item, of so many bytes, begins a new chunk, and counts
// it. A chunk holds at most most items and driver.ChunkBytes; a larger item goes alone.
func (c *cutter) full(most, bytes int) bool {
	full := c.items == most || c.items > 0 && c.bytes+bytes > driver.ChunkBytes
	if full {
		*c = cutter{}
	}
	c.items++
	c.bytes += bytes
	return full
}

// runInTurn makes calls one after the other, a few in one round trip, and hands on the
// replies in order. It stops at the first error, of a call or of take.
func (s *Store) runInTurn(ctx context.Context, op string, calls []call, take func(reply any) error) error {
	for len(calls) > 0 {
		n := min(len(calls), pipelineChunks)
		replies, err := s.runAll(ctx, op, calls[:n])
		for _, reply := range replies {
			if taken := take(reply); taken != nil {
				return taken
			}
		}
		if err != nil {
			return err
		}
		calls = calls[n:]
	}
	return nil
}

// runTexts runs a script whose reply is a list of at least so many strings.
func (s *Store) runTexts(ctx context.Context, op string, c call, least int) ([]string, error) {
	reply, err := s.run(ctx, op, c)
	if err != nil {
		return nil, err
	}
	list, err := texts(op, reply)
	if err == nil && len(list) < least {
		err = storeError(op, errCorrupt)
	}
	return list, err
}
