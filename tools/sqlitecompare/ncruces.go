package main

import (
	"context"
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

type ncruces struct {
	conn       *sqlite3.Conn
	statements [len(statements)]*sqlite3.Stmt
}

func openNcruces(_ context.Context, path, synchronous string) (library, error) {
	conn, err := sqlite3.Open("file:" + path)
	if err != nil {
		return nil, err
	}
	l := &ncruces{conn: conn}
	for _, text := range []string{"PRAGMA journal_mode = WAL", "PRAGMA synchronous = " + synchronous, schema} {
		if err := conn.Exec(text); err != nil {
			return nil, err
		}
	}
	for i, text := range statements {
		if l.statements[i], _, err = conn.Prepare(text); err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
	}
	return l, nil
}

func (l *ncruces) exec(statement int, args ...any) error {
	return l.query(statement, nil, args...)
}

func (l *ncruces) query(statement int, each func(id string), args ...any) error {
	s := l.statements[statement]
	for i, arg := range args {
		var err error
		switch v := arg.(type) {
		case int64:
			err = s.BindInt64(i+1, v)
		case string:
			err = s.BindText(i+1, v)
		}
		if err != nil {
			return err
		}
	}
	for s.Step() {
		_ = s.ColumnText(1)
		each(s.ColumnText(0))
	}
	return s.Reset()
}

func (l *ncruces) close() error {
	for _, s := range l.statements {
		s.Close()
	}
	return l.conn.Close()
}
