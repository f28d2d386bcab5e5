package main

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

type zombiezen struct {
	conn       *sqlite.Conn
	statements [len(statements)]*sqlite.Stmt
}

func openZombiezen(_ context.Context, path, synchronous string) (library, error) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		return nil, err
	}
	l := &zombiezen{conn: conn}
	for _, text := range []string{"PRAGMA journal_mode = WAL", "PRAGMA synchronous = " + synchronous} {
		if err := sqlitex.ExecuteTransient(conn, text, nil); err != nil {
			return nil, err
		}
	}
	if err := sqlitex.ExecuteScript(conn, schema, nil); err != nil {
		return nil, err
	}
	for i, text := range statements {
		if l.statements[i], err = conn.Prepare(text); err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
	}
	return l, nil
}

func (l *zombiezen) exec(statement int, args ...any) error {
	return l.query(statement, nil, args...)
}

func (l *zombiezen) query(statement int, each func(id string), args ...any) error {
	s := l.statements[statement]
	for i, arg := range args {
		switch v := arg.(type) {
		case int64:
			s.BindInt64(i+1, v)
		case string:
			s.BindText(i+1, v)
		}
	}
	for {
		row, err := s.Step()
		if err != nil || !row {
			s.Reset()
			return err
		}
		_ = s.ColumnText(1)
		each(s.ColumnText(0))
	}
}

func (l *zombiezen) close() error { return l.conn.Close() }
