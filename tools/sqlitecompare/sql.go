package main

import (
	"context"
	"database/sql"
	"fmt"

	_ "github.com/ncruces/go-sqlite3/driver"
	_ "modernc.org/sqlite"
)

// sqlLibrary goes through database/sql, on one connection with prepared statements.
type sqlLibrary struct {
	ctx        context.Context
	db         *sql.DB
	conn       *sql.Conn
	statements [len(statements)]*sql.Stmt
}

func openSQL(ctx context.Context, driver, source, synchronous string) (library, error) {
	db, err := sql.Open(driver, source)
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	l := &sqlLibrary{ctx: ctx, db: db, conn: conn}
	for _, text := range []string{"PRAGMA journal_mode = WAL", "PRAGMA synchronous = " + synchronous, schema} {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
	}
	for i, text := range statements {
		if l.statements[i], err = conn.PrepareContext(ctx, text); err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
	}
	return l, nil
}

func (l *sqlLibrary) exec(statement int, args ...any) error {
	_, err := l.statements[statement].ExecContext(l.ctx, args...)
	return err
}

func (l *sqlLibrary) query(statement int, each func(id string), args ...any) error {
	rows, err := l.statements[statement].QueryContext(l.ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var id sql.NullString
	var payload []byte
	for rows.Next() {
		if err := rows.Scan(&id, &payload); err != nil {
			return err
		}
		each(id.String)
	}
	return rows.Err()
}

func (l *sqlLibrary) close() error {
	for _, s := range l.statements {
		s.Close()
	}
	l.conn.Close()
	return l.db.Close()
}
