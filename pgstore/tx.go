package pgstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/braidmq/braid/driver"
)

// session is where statements run: a connection of the pool, or a transaction of the
// caller's.
type session interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// tx queues statements, which send brings to the server in one round trip, and knows
// what the transaction changes beside its own rows.
type tx struct {
	store   *Store
	ctx     context.Context
	on      session
	now     driver.Time
	batch   *pgx.Batch
	numbers []int64
	settled func() // called when all is committed; nil: nothing
	changes
}

func newTx(ctx context.Context, s *Store, on session, now driver.Time) *tx {
	return &tx{store: s, ctx: ctx, on: on, now: now, batch: &pgx.Batch{}}
}

// freshPlans queues that plans of another time are forgotten.
func (t *tx) freshPlans(conn *pgx.Conn) {
	if !t.store.growth.plansOf(conn, t.store.table("jobs")) {
		t.exec("plans_discard")
	}
}

// query queues a statement; each is called for every row once it was sent.
func (t *tx) query(st statement, each func(rows pgx.Rows) error, args ...any) {
	queued := t.batch.Queue(t.store.sql(st), args...)
	queued.Fn = func(results pgx.BatchResults) error {
		rows, err := results.Query()
		if err != nil {
			return fmt.Errorf("%s: %w", st, err)
		}
		defer rows.Close()
		for rows.Next() {
			if err := each(rows); err != nil {
				return fmt.Errorf("%s: %w", st, err)
			}
		}
		if err := rows.Err(); err != nil {
			return fmt.Errorf("%s: %w", st, err)
		}
		return nil
	}
}

// scan queues a statement whose first row is scanned into targets; found, unless nil,
// tells whether there was one.
func (t *tx) scan(st statement, found *bool, targets []any, args ...any) {
	t.query(st, func(rows pgx.Rows) error {
		if found != nil {
			*found = true
		}
		return rows.Scan(targets...)
	}, args...)
}

// exec queues a statement that returns no rows.
func (t *tx) exec(st statement, args ...any) { t.affect(st, nil, args...) }

// affect is exec, and tells how many rows the statement changed, unless n is nil.
func (t *tx) affect(st statement, n *int64, args ...any) {
	queued := t.batch.Queue(t.store.sql(st), args...)
	queued.Fn = func(results pgx.BatchResults) error {
		tag, err := results.Exec()
		if err != nil {
			return fmt.Errorf("%s: %w", st, err)
		}
		if n != nil {
			*n = tag.RowsAffected()
		}
		return nil
	}
}

// send brings what is queued to the server, and calls what waits for rows.
func (t *tx) send() error {
	if t.batch.Len() == 0 {
		return nil
	}
	batch := t.batch
	t.batch = &pgx.Batch{}
	return t.on.SendBatch(t.ctx, batch).Close()
}

// drawAtOnce is how many numbers a transaction draws when it has none left.
const drawAtOnce = 64

// draw queues the drawing of so many numbers.
func (t *tx) draw(n int) {
	t.query("numbers_draw", func(rows pgx.Rows) error {
		var number int64
		err := rows.Scan(&number)
		t.numbers = append(t.numbers, number)
		return err
	}, n)
}

// number returns a number above all that were drawn before. Without a stock of them it
// is a round trip.
func (t *tx) number() (int64, error) {
	if len(t.numbers) == 0 {
		t.draw(drawAtOnce)
		if err := t.send(); err != nil {
			return 0, err
		}
	}
	n := t.numbers[0]
	t.numbers = t.numbers[1:]
	return n, nil
}

const (
	// transactTries is how often a transaction is tried that others got in the way of.
	transactTries = 12
	// collisionPause bounds the rest before the second try; later ones grow.
	collisionPause = 2 * time.Millisecond
	// rollbackTimeout bounds a rollback.
	rollbackTimeout = 5 * time.Second
)

// patience says what a transaction does about others that hold what it needs.
type patience int

const (
	// patient waits as long as they take, on the server.
	patient patience = iota
	// polite waits for as long, but without keeping a connection busy: those of a pool
	// are few, and the others of this process need them.
	polite
	// hasty gives up soon, with driver.ErrContended.
	hasty
)

// again reports whether to try a transaction again that met an error, after a rest.
func (p patience) again(ctx context.Context, err error, try int) bool {
	if !isCollision(err) {
		return false
	}
	held := isHeld(err)
	switch {
	case p == hasty && held:
		return false
	case p == polite && held:
		return rest(ctx, try+politeTries)
	}
	return try < transactTries && rest(ctx, try)
}

// politeTries is how much longer the rests of polite transactions are, as if so many
// tries had gone before.
const politeTries = 3

// transact calls work in a transaction and commits it. What work has queued at its end
// goes with the commit. It is called again after a deadlock and the like, so it begins
// anew whatever it keeps.
func (s *Store) transact(ctx context.Context, op string, now driver.Time, work func(t *tx) error) error {
	return s.transactAs(ctx, patient, op, now, work)
}

func (s *Store) transactAs(ctx context.Context, p patience, op string, now driver.Time, work func(t *tx) error) error {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	for try := 1; ; try++ {
		t, committing, err := s.transactOnce(ctx, p, now, work)
		if err == nil {
			s.publish(t)
			return nil
		}
		if !p.again(ctx, err, try) {
			return s.storeError(ctx, op, err, committing)
		}
	}
}

// transactOnce is transact without repetition. committing tells whether the commit was
// on its way.
func (s *Store) transactOnce(ctx context.Context, p patience, now driver.Time, work func(t *tx) error) (t *tx, committing bool, err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, false, err
	}
	defer conn.Release()
	t = newTx(ctx, s, conn, now)
	t.exec("begin")
	t.freshPlans(conn.Conn())
	t.be(p)
	if err = work(t); err == nil {
		t.exec("commit")
		err = t.send()
		committing = true
	}
	if err != nil {
		rollback(ctx, conn.Conn())
	}
	return t, committing, err
}

// rollback ends a transaction that has failed; without it the pool would close the
// connection.
func rollback(ctx context.Context, conn *pgx.Conn) {
	if conn.IsClosed() || conn.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_, _ = conn.PgConn().Exec(ctx, "ROLLBACK").ReadAll()
}

// be queues the settings, among them how long statements wait for locks.
func (t *tx) be(p patience) {
	if p == patient {
		t.exec("settings")
	} else {
		t.exec("settings_hasty")
	}
}

// pipeline sends what queue has queued in one round trip, which is one transaction.
func (s *Store) pipeline(ctx context.Context, op string, now driver.Time, queue func(t *tx)) error {
	return s.pipelineAs(ctx, patient, op, now, queue)
}

func (s *Store) pipelineAs(ctx context.Context, p patience, op string, now driver.Time, queue func(t *tx)) error {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	for try := 1; ; try++ {
		t, err := s.pipelineOnce(ctx, p, now, queue)
		if err == nil {
			s.publish(t)
			return nil
		}
		if !p.again(ctx, err, try) {
			return s.storeError(ctx, op, err, true)
		}
	}
}

func (s *Store) pipelineOnce(ctx context.Context, p patience, now driver.Time, queue func(t *tx)) (*tx, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, notSent(err)
	}
	defer conn.Release()
	t := newTx(ctx, s, conn, now)
	t.freshPlans(conn.Conn())
	t.be(p)
	queue(t)
	return t, t.send()
}

// read calls work in a transaction that sees one state of the database and changes
// nothing.
func (s *Store) read(ctx context.Context, op string, work func(t *tx) error) error {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return s.storeError(ctx, op, err, false)
	}
	defer conn.Release()
	t := newTx(ctx, s, conn, 0)
	t.exec("begin_read") // before all else: what comes first in a batch begins a transaction
	t.freshPlans(conn.Conn())
	t.exec("settings")
	if err = work(t); err == nil {
		t.exec("commit")
		err = t.send()
	}
	if err != nil {
		rollback(ctx, conn.Conn())
	}
	return s.storeError(ctx, op, err, false)
}

// rest sleeps before another try, and reports whether to make one.
func rest(ctx context.Context, try int) bool {
	timer := time.NewTimer(rand.N(collisionPause << min(try, 8)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// unsent marks an error that came before anything was sent.
type unsent struct{ error }

func (u unsent) Unwrap() error { return u.error }

func notSent(err error) error { return unsent{err} }

// wasSent reports whether the server may have seen something of the call that failed.
func wasSent(err error) bool {
	var u unsent
	return !errors.As(err, &u) && !pgconn.SafeToRetry(err)
}
