package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/braidmq/braid/driver"
)

// file is the database's file as it was when the store was opened. What is written to a
// file that was removed or replaced is lost, though SQLite takes it.
type file struct {
	path string // empty: there is none that could be looked at
	info os.FileInfo
}

// rememberFile learns which file the database is.
func (s *Store) rememberFile(ctx context.Context) error {
	if err := s.db.QueryRowContext(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&s.file.path); err != nil {
		return err
	}
	if s.file.path == "" {
		return nil
	}
	info, err := os.Stat(s.file.path)
	if err != nil {
		s.file.path = "" // a name of the driver's own making
		return nil       //nolint:nilerr // nothing to compare with later
	}
	s.file.info = info
	return nil
}

// sameFile returns an error if the file is no longer where it was.
func (s *Store) sameFile() error {
	if s.file.path == "" {
		return nil
	}
	switch info, err := os.Stat(s.file.path); {
	case errors.Is(err, os.ErrNotExist):
		return &driver.StoreError{Op: "write", Err: fmt.Errorf("%w: %s is not there any more", ErrReplaced, s.file.path)}
	case err == nil && !os.SameFile(info, s.file.info):
		return &driver.StoreError{Op: "write", Err: fmt.Errorf("%w: %s is another file now", ErrReplaced, s.file.path)}
	}
	return nil
}
