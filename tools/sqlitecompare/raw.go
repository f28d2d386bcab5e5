package main

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"io"
)

// raw uses a database/sql driver without database/sql, on a connection of its pool.
type raw struct {
	db         *sql.DB
	statements [len(statements)]sqldriver.Stmt
	row        []sqldriver.Value
	args       []sqldriver.NamedValue
}

func openRaw(ctx context.Context, driver, source, synchronous string) (library, error) {
	db, err := sql.Open(driver, source)
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	for _, text := range []string{"PRAGMA journal_mode = WAL", "PRAGMA synchronous = " + synchronous, schema} {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
	}
	l := &raw{db: db, row: make([]sqldriver.Value, 2)}
	err = conn.Raw(func(c any) error {
		for i, text := range statements {
			var err error
			if l.statements[i], err = c.(sqldriver.Conn).Prepare(text); err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
		}
		return nil
	})
	return l, err
}

func (l *raw) bind(args []any) []sqldriver.NamedValue {
	l.args = l.args[:0]
	for i, arg := range args {
		l.args = append(l.args, sqldriver.NamedValue{Ordinal: i + 1, Value: arg})
	}
	return l.args
}

func (l *raw) exec(statement int, args ...any) error {
	_, err := l.statements[statement].(sqldriver.StmtExecContext).ExecContext(context.Background(), l.bind(args))
	return err
}

func (l *raw) query(statement int, each func(id string), args ...any) error {
	rows, err := l.statements[statement].(sqldriver.StmtQueryContext).QueryContext(context.Background(), l.bind(args))
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		if err := rows.Next(l.row); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		id, _ := l.row[0].(string)
		each(id)
	}
}

func (l *raw) close() error {
	for _, s := range l.statements {
		s.Close()
	}
	return nil
}
