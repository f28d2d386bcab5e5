package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/rowcodec"
)

// Store is a store in a SQLite database. Its methods may be called from many
// goroutines at once. Use [Open] or [New].
type Store struct {
	settings
	db       *sql.DB
	ownsDB   bool
	location string
	file     file
	folder   string     // of a database in memory; removed by Close
	ids      sync.Mutex // guards generateID

	calls   chan *call
	closing chan struct{} // closed by Close
	written chan struct{} // closed when the writer has ended
	close   sync.Once

	writer  keptConnection
	readers chan *keptConnection // those that are not in use
	hub     *hub
	plans   rowcodec.Plans
	commits atomic.Int64 // the file's count of commits after the writer's latest
}

var (
	_ driver.Store         = (*Store)(nil)
	_ driver.Waker         = (*Store)(nil)
	_ driver.FinishWatcher = (*Store)(nil)
	_ driver.CancelWatcher = (*Store)(nil)
	_ driver.TxProducer    = (*Store)(nil)
)

// InMemory is the path of a database that is gone when its store is closed. It lies
// in files of the temporary folder that are never flushed to the disk, since
// SQLite's own databases in memory let readers wait for writers.
const InMemory = ":memory:"

// readConnections is how many reads go on at once.
const readConnections = 4

// Open opens the database in the file of that path, which it makes if need be, for
// [InMemory] one in memory. A file without any of Braid's tables is prepared; one of
// an older version is refused with an error that says what to run, unless
// [WithMigrate] is given; one of a newer version with [driver.ErrFormatTooNew].
func Open(path string, opts ...Option) (*Store, error) {
	settings, err := newSettings(opts)
	if err != nil {
		return nil, err
	}
	if path == "" {
		return nil, &driver.InvalidError{Field: "path", Value: path, Reason: "is empty; name a file, or use " + InMemory}
	}
	location, folder := path, ""
	if path == InMemory {
		if folder, err = os.MkdirTemp("", "braid-"); err != nil {
			return nil, storeError("Open", err)
		}
		path, settings.unsafe = filepath.Join(folder, "jobs.db"), true
	}
	parent := filepath.Dir(path)
	if in, err := os.Stat(parent); errors.Is(err, os.ErrNotExist) || err == nil && !in.IsDir() {
		return nil, &driver.InvalidError{Field: "path", Value: path, Reason: "needs the folder " + parent + ", which does not exist; make it first"}
	}
	source, err := dataSource(path, settings)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return nil, storeError("Open", err)
	}
	s := newStore(db, settings)
	s.ownsDB, s.location, s.folder = true, location, folder
	if err := s.start(true); err != nil {
		return nil, err
	}
	return s, nil
}

// New returns a store in a database that the caller has opened, with any driver for
// SQLite, and closes after it. The store keeps up to 6 of the pool's connections for
// itself, so a limit of the pool must leave room for them. The database must have
// been migrated, unless [WithMigrate] is given; its journal mode becomes WAL.
func New(db *sql.DB, opts ...Option) (*Store, error) {
	settings, err := newSettings(opts)
	if err != nil {
		return nil, err
	}
	if db == nil {
		return nil, &driver.InvalidError{Field: "database", Value: "nil", Reason: "is no database; pass an open *sql.DB"}
	}
	const own = readConnections + 2
	if most := db.Stats().MaxOpenConnections; most > 0 && most <= own {
		return nil, &driver.InvalidError{Field: "database", Value: strconv.Itoa(most) + " connections",
			Reason: fmt.Sprintf("has too few for the store and its caller; SetMaxOpenConns to %d or more, or use Open", own+1)}
	}
	s := newStore(db, settings)
	if err := s.start(false); err != nil {
		return nil, err
	}
	return s, nil
}

func newStore(db *sql.DB, settings settings) *Store {
	s := &Store{
		settings: settings,
		db:       db,
		calls:    make(chan *call, queuedCalls),
		closing:  make(chan struct{}),
		written:  make(chan struct{}),
		readers:  make(chan *keptConnection, readConnections),
	}
	s.writer.open = func(ctx context.Context) (*connection, error) { return s.connect(ctx, false) }
	for range readConnections {
		s.readers <- &keptConnection{open: func(ctx context.Context) (*connection, error) { return s.connect(ctx, true) }}
	}
	s.hub = newHub(s)
	return s
}

// durability is the value of SQLite's setting synchronous.
func (s settings) durability() string {
	switch {
	case s.unsafe:
		return "OFF"
	case s.relaxed:
		return "NORMAL"
	}
	return "FULL"
}

// dataSource returns what the driver opens.
func dataSource(path string, s settings) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", &driver.InvalidError{Field: "path", Value: path, Reason: "cannot be made absolute: " + err.Error()}
	}
	slashed := filepath.ToSlash(absolute)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive letter
	}
	return fmt.Sprintf("%s?_txlock=immediate&_pragma=busy_timeout(%d)&_pragma=journal_mode(WAL)&_pragma=synchronous(%s)",
		(&url.URL{Scheme: "file", Path: slashed}).String(), s.busyTimeout.Milliseconds(), s.durability()), nil
}

// start looks at the schema and starts the writer. It releases everything if it
// fails.
func (s *Store) start(prepareNew bool) error {
	err := whileBusy(context.Background(), s.busyTimeout, func(ctx context.Context) error {
		if err := s.askDatabase(ctx); err != nil {
			return err
		}
		return s.prepare(ctx, prepareNew)
	})
	if err == nil {
		err = s.read(context.Background(), "Open", func(on session) error {
			_, err := first(on, "store_load", func(r row) {
				s.commits.Store(r.integer(0))
				s.hub.opened, s.hub.polled = r.integer(4), r.integer(4)
			})
			return err
		})
	}
	if err != nil {
		close(s.closing)
		close(s.written)
		s.release()
		return storeError("Open", err)
	}
	go s.runWriter()
	return nil
}

// askDatabase sees that the database keeps a write-ahead log, and learns where it
// is.
func (s *Store) askDatabase(ctx context.Context) error {
	var mode string
	if err := s.db.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return &driver.InvalidError{Field: "database", Value: "journal mode " + mode,
			Reason: "cannot have a write-ahead log, which readers need beside the writer; use a file, or Open with " + InMemory}
	}
	if err := s.rememberFile(ctx); err != nil {
		return err
	}
	if s.location == "" {
		s.location = s.file.path
	}
	return nil
}

// Info implements [driver.Store].
func (s *Store) Info() driver.Info {
	return driver.Info{Kind: "sqlite", Location: s.location, Format: len(known)}
}

// DB returns the pool of connections that the store uses, for transactions that
// enqueue jobs. Open's pool begins them with the write lock. It is closed with the
// store, unless the caller brought it.
func (s *Store) DB() *sql.DB { return s.db }

// Ping implements [driver.Store].
func (s *Store) Ping(ctx context.Context) error {
	if err := s.serves(ctx); err != nil {
		return err
	}
	if err := s.sameFile(); err != nil {
		return err
	}
	return s.read(ctx, "Ping", func(on session) error {
		_, err := first(on, "store_load", func(row) {})
		return err
	})
}

// Close implements [driver.Store]. The transaction under way is finished.
func (s *Store) Close() error {
	if s.closing == nil {
		return nil // nobody opened it
	}
	s.close.Do(func() {
		close(s.closing)
		<-s.written
		s.hub.close()
		s.release()
	})
	return nil
}

// release gives all connections up.
func (s *Store) release() {
	s.writer.drop()
	for range readConnections {
		(<-s.readers).drop()
	}
	if s.ownsDB {
		_ = s.db.Close()
	}
	if s.folder != "" {
		_ = os.RemoveAll(s.folder)
	}
}
