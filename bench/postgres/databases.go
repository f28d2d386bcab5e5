package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/bench/compare"
	"github.com/braidmq/braid/internal/testserver"
)

// databases is the server, on which each measurement has a new database.
type databases struct {
	server *testserver.PostgresServer
	number int
}

func (d *databases) name() string { return fmt.Sprintf("bench_%d", d.number) }

// url returns the URL of the database of the measurement under way.
func (d *databases) url() string {
	return strings.Replace(d.server.URL(), "/postgres?", "/"+d.name()+"?", 1)
}

// Empty is part of compare.Server. What the last measurement left to do for vacuum and
// checkpoints is done before the next one begins.
func (d *databases) Empty() error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, d.server.URL())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	drop := "DROP DATABASE IF EXISTS " + d.name() + " WITH (FORCE)"
	d.number++
	for _, statement := range []string{drop, "CREATE DATABASE " + d.name(), "CHECKPOINT"} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// Usage is part of compare.Server. The server's processes come and go with their
// connections, so their time is not counted.
func (d *databases) Usage() (compare.Usage, error) { return compare.Usage{}, nil }

// ask returns what a query answers with.
func (d *databases) ask(ctx context.Context, query string) (answer string, err error) {
	conn, err := pgx.Connect(ctx, d.server.URL())
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(ctx) }()
	err = conn.QueryRow(ctx, query).Scan(&answer)
	return answer, err
}
