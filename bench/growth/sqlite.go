package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/sqlitestore"
)

// sqliteTarget is the SQLite store in files of a folder of its own, measured by the
// clock. It does not wait for the disk, whose time would hide what the store adds.
type sqliteTarget struct {
	folder string
	stores int
}

func newSQLite() (target, error) {
	folder, err := os.MkdirTemp("", "braid-growth-")
	if err != nil {
		return nil, err
	}
	return &sqliteTarget{folder: folder}, nil
}

func (s *sqliteTarget) name() string     { return "sqlite" }
func (s *sqliteTarget) measures() string { return "time" }
func (s *sqliteTarget) close() error     { return os.RemoveAll(s.folder) }

func (s *sqliteTarget) fresh(context.Context) (driver.Store, meter, error) {
	s.stores++
	store, err := sqlitestore.Open(filepath.Join(s.folder, strconv.Itoa(s.stores)+".db"), sqlitestore.WithRelaxedDurability())
	if err != nil {
		return nil, nil, err
	}
	return store, new(stopwatch), nil
}
