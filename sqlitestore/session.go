package sqlitestore

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"io"
)

// session runs statements, on a connection of the store's or in a transaction of the
// caller's.
type session interface {
	// exec runs a statement that returns no rows.
	exec(st statement, args ...any) (sqldriver.Result, error)
	// query calls each for every row, until that returns an error; errEnough ends it
	// without one. The row is valid until each returns.
	query(st statement, each func(r row) error, args ...any) error
}

// errEnough ends a query early.
var errEnough = errors.New("enough rows")

// row is a row of a result: int64, string, or nil for NULL.
type row []sqldriver.Value

func (r row) null(column int) bool { return r[column] == nil }

// integer returns 0 for NULL.
func (r row) integer(column int) int64 {
	n, _ := r[column].(int64)
	return n
}

func (r row) flag(column int) bool { return r.integer(column) != 0 }

// text returns the empty string for NULL.
func (r row) text(column int) string {
	switch v := r[column].(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

// bytes returns nil for NULL.
func (r row) bytes(column int) []byte {
	switch v := r[column].(type) {
	case string:
		return []byte(v)
	case []byte:
		return append([]byte(nil), v...)
	}
	return nil
}

// connection is a connection of the pool that the store holds for long, with its
// prepared statements. It goes around database/sql, whose cost per statement is that
// of the statement itself. One goroutine uses it at a time.
type connection struct {
	conn     *sql.Conn
	ctx      context.Context // bounds the statements under way
	raw      sqldriver.Conn  // valid within use
	prepared map[statement]sqldriver.Stmt
	args     []sqldriver.NamedValue
	rows     [][]sqldriver.Value // spare rows for results; queries nest
}

// use calls work, which may call exec and query.
func (c *connection) use(ctx context.Context, work func() error) error {
	c.ctx = ctx
	var failed error
	err := c.conn.Raw(func(raw any) error {
		var ok bool
		if c.raw, ok = raw.(sqldriver.Conn); !ok {
			return fmt.Errorf("braid: the SQLite driver's connection is a %T, no driver.Conn", raw)
		}
		failed = work()
		return nil
	})
	if err != nil {
		return err
	}
	return failed
}

func (c *connection) prepare(st statement) (sqldriver.Stmt, error) {
	if s := c.prepared[st]; s != nil {
		return s, nil
	}
	s, err := c.raw.Prepare(st.text())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", st, err)
	}
	c.prepared[st] = s
	return s, nil
}

// bind returns the arguments as the driver wants them. They are valid until the next
// call.
func (c *connection) bind(args []any) []sqldriver.NamedValue {
	c.args = c.args[:0]
	for i, arg := range args {
		c.args = append(c.args, sqldriver.NamedValue{Ordinal: i + 1, Value: value(arg)})
	}
	return c.args
}

func (c *connection) exec(st statement, args ...any) (sqldriver.Result, error) {
	s, err := c.prepare(st)
	if err != nil {
		return nil, err
	}
	var result sqldriver.Result
	if withContext, ok := s.(sqldriver.StmtExecContext); ok {
		result, err = withContext.ExecContext(c.ctx, c.bind(args))
	} else {
		result, err = s.Exec(values(args)) //nolint:staticcheck // for drivers without contexts
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", st, err)
	}
	return result, nil
}

func (c *connection) query(st statement, each func(r row) error, args ...any) (err error) {
	s, err := c.prepare(st)
	if err != nil {
		return err
	}
	var rows sqldriver.Rows
	if withContext, ok := s.(sqldriver.StmtQueryContext); ok {
		rows, err = withContext.QueryContext(c.ctx, c.bind(args))
	} else {
		rows, err = s.Query(values(args)) //nolint:staticcheck // for drivers without contexts
	}
	if err != nil {
		return fmt.Errorf("%s: %w", st, err)
	}
	r := c.takeRow(len(rows.Columns()))
	defer func() {
		clear(r) // it may hold a large value
		c.rows = append(c.rows, r)
		if closed := rows.Close(); err == nil && closed != nil {
			err = fmt.Errorf("%s: %w", st, closed)
		}
	}()
	for {
		switch err := rows.Next(r); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", st, err)
		}
		if err := each(r); errors.Is(err, errEnough) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// takeRow returns a row of that many columns, a used one if there is.
func (c *connection) takeRow(columns int) []sqldriver.Value {
	if n := len(c.rows); n > 0 && cap(c.rows[n-1]) >= columns {
		r := c.rows[n-1][:columns]
		c.rows = c.rows[:n-1]
		return r
	}
	return make([]sqldriver.Value, columns)
}

// close gives the connection up. It is not used by anybody else after that, because
// it has settings of the store's.
func (c *connection) close() {
	_ = c.conn.Raw(func(any) error {
		for _, s := range c.prepared {
			_ = s.Close()
		}
		return sqldriver.ErrBadConn
	})
	_ = c.conn.Close()
}

// transaction runs statements in a transaction of the caller's.
type transaction struct {
	ctx context.Context
	tx  *sql.Tx
}

func (t transaction) exec(st statement, args ...any) (sqldriver.Result, error) {
	result, err := t.tx.ExecContext(t.ctx, st.text(), anyValues(args)...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", st, err)
	}
	return result, nil
}

func (t transaction) query(st statement, each func(r row) error, args ...any) error {
	rows, err := t.tx.QueryContext(t.ctx, st.text(), anyValues(args)...)
	if err != nil {
		return fmt.Errorf("%s: %w", st, err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return fmt.Errorf("%s: %w", st, err)
	}
	r := make([]sqldriver.Value, len(columns))
	scanned, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range into {
		into[i] = &scanned[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return fmt.Errorf("%s: %w", st, err)
		}
		for i, v := range scanned {
			r[i] = v
		}
		if err := each(r); errors.Is(err, errEnough) {
			break
		} else if err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("%s: %w", st, err)
	}
	return nil
}
