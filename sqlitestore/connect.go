package sqlitestore

import (
	"context"
	sqldriver "database/sql/driver"
	"fmt"
	"time"

	"github.com/braidmq/braid/driver"
)

// keptConnection is a connection that is made when it is first used, and made again
// after an error that may have spoiled it. One goroutine uses it at a time.
type keptConnection struct {
	open func(ctx context.Context) (*connection, error)
	conn *connection
	// spoiled tells that what follows cannot use the connection.
	spoiled bool
}

// use calls work with the connection.
func (k *keptConnection) use(ctx context.Context, work func(c *connection) error) error {
	if k.conn == nil {
		conn, err := k.open(ctx)
		if err != nil {
			return err
		}
		k.conn = conn
	}
	err := k.conn.use(ctx, func() error { return work(k.conn) })
	if k.spoiled || err != nil && lost(err) {
		k.drop()
	}
	return err
}

func (k *keptConnection) drop() {
	if k.conn != nil {
		k.conn.close()
		k.conn, k.spoiled = nil, false
	}
}

// connect takes a connection out of the pool and sets it up for the store alone.
func (s *Store) connect(ctx context.Context, readOnly bool) (*connection, error) {
	if err := s.sameFile(); err != nil {
		return nil, err // SQLite would make a new file
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	c := &connection{conn: conn, ctx: ctx, prepared: map[statement]sqldriver.Stmt{}}
	settings := []string{
		"PRAGMA temp_store = MEMORY",
		"PRAGMA synchronous = " + s.durability(),
	}
	if readOnly {
		settings = append(settings, fmt.Sprintf("PRAGMA busy_timeout = %d", s.busyTimeout.Milliseconds()), "PRAGMA query_only = 1")
	} else {
		settings = append(settings, fmt.Sprintf("PRAGMA busy_timeout = %d", busyRound.Milliseconds()), "PRAGMA journal_mode = WAL",
			fmt.Sprintf("PRAGMA journal_size_limit = %d", walKept))
	}
	for _, setting := range settings {
		if _, err := conn.ExecContext(ctx, setting); err != nil {
			c.close()
			return nil, fmt.Errorf("%s: %w", setting, err)
		}
	}
	return c, nil
}

// walKept is to how many bytes the write-ahead log shrinks again after it had to hold more.
const walKept = 64 << 20

// whileBusy calls work again while the database is locked, for as long as patience lasts.
// SQLite's own busy timeout does not cover the step from a fresh file to one with a
// write-ahead log, which one connection at a time can make.
func whileBusy(ctx context.Context, patience time.Duration, work func(context.Context) error) error {
	for began := time.Now(); ; {
		err := work(ctx)
		if err == nil || !isBusy(err) || time.Since(began) >= patience {
			return err
		}
		select {
		case <-time.After(busyPause):
		case <-ctx.Done():
			return err
		}
	}
}

// busyPause is how long whileBusy waits between two calls.
const busyPause = 10 * time.Millisecond

// read runs queries on a connection of its own, on one state of the database.
func (s *Store) read(ctx context.Context, op string, work func(on session) error) error {
	if err := s.serves(ctx); err != nil {
		return err
	}
	var k *keptConnection
	select {
	case k = <-s.readers:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing:
		return driver.ErrClosed
	}
	defer func() { s.readers <- k }()
	return storeError(op, k.use(ctx, func(c *connection) error {
		// The transaction begins and ends whatever becomes of the caller: a statement
		// whose context ends reports that, though it may have had its effect.
		c.ctx = context.Background()
		if _, err := c.exec("begin_read"); err != nil {
			return err
		}
		c.ctx = ctx
		err := work(c)
		c.ctx = context.Background()
		if _, failed := c.exec("rollback"); failed != nil {
			k.spoiled = true
			if err == nil {
				err = failed
			}
		}
		return err
	}))
}
