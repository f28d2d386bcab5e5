package redisstore

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/braidmq/braid/driver"
)

// formatVersion is the version of the stored format.
const formatVersion = 1

// Store is a store on a Redis or Valkey server, or cluster. Its methods may be called
// from many goroutines at once. Use [Open] or [New].
type Store struct {
	settings
	client         redis.UniversalClient
	ownsClient     bool
	location       string
	keys           keyspace
	sharded        bool   // whether pub/sub is sharded
	scriptSettings string // see settings.letters
	openedAt       uint64 // the number of the latest wake when the store was opened
	listener       *listener

	closeOnce sync.Once
	done      chan struct{} // closed by Close
}

var _ driver.Store = (*Store)(nil)

// Info implements [driver.Store].
func (s *Store) Info() driver.Info {
	return driver.Info{Kind: "redis", Location: s.location, Format: formatVersion}
}

// Ping implements [driver.Store].
func (s *Store) Ping(ctx context.Context) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	var err error
	if lostErr := await(ctx, func() { err = s.client.Ping(ctx).Err() }); lostErr != nil {
		return lost("Ping", lostErr)
	}
	if err != nil {
		return storeError("Ping", err)
	}
	return nil
}

// Close implements [driver.Store]. It closes the client if Open made it; one that was
// given to New stays open.
func (s *Store) Close() error {
	var err error
	if s.done == nil {
		return nil // nobody opened it
	}
	s.closeOnce.Do(func() {
		close(s.done)
		s.listener.close()
		if s.ownsClient {
			err = s.client.Close()
		}
	})
	return err
}

// usable tells why a call cannot be made, if so.
func (s *Store) usable(ctx context.Context) error {
	if s.done == nil {
		return &driver.InvalidError{Field: "store", Reason: "is empty; open one with redisstore.Open or redisstore.New"}
	}
	select {
	case <-s.done:
		return driver.ErrClosed
	default:
		return ctx.Err()
	}
}
