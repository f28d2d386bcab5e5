package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/testserver"
	"github.com/braidmq/braid/pgstore"
)

// postgresTarget is the Postgres store on a server of its own, in a schema for each
// setting, measured by the clock. The server does not wait for the disk, whose time would
// hide what the store adds.
type postgresTarget struct {
	server *testserver.PostgresServer
	stores int
}

func newPostgres() (target, error) {
	server, err := testserver.StartPostgres()
	if err != nil {
		return nil, err
	}
	return &postgresTarget{server: server}, nil
}

func (p *postgresTarget) name() string     { return "postgres" }
func (p *postgresTarget) measures() string { return "time" }
func (p *postgresTarget) close() error     { return p.server.Close() }

func (p *postgresTarget) fresh(ctx context.Context) (driver.Store, meter, error) {
	p.stores++
	url := fmt.Sprintf("%s&schema=growth_%d", p.server.URL(), p.stores)
	store, err := pgstore.Open(ctx, url, pgstore.WithMigrate(), pgstore.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	if err != nil {
		return nil, nil, err
	}
	return store, &settledStopwatch{url: p.server.URL()}, nil
}

// settledStopwatch measures by the clock, once the server has written what it has put off,
// and vacuum has been, which comes by itself within a minute.
type settledStopwatch struct {
	stopwatch
	url string
}

func (s *settledStopwatch) reset() error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, statement := range []string{"VACUUM (ANALYZE)", "CHECKPOINT"} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
