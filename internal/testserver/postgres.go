package testserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// PostgresServer is a Postgres server that a test or benchmark started for itself, with
// the superuser postgres, who needs no password, and the database postgres. Its methods
// are safe for concurrent use.
type PostgresServer struct {
	bin      string // the folder of its programs
	port     int
	dir      string
	owner    *syscall.Credential // who runs it; nil: this process's user
	settings []string

	mu      sync.Mutex
	process *process
}

// A PostgresOption configures a server.
type PostgresOption func(*postgresConfig)

type postgresConfig struct {
	durable  bool
	settings []string
}

// Durable makes the server flush what is committed, as one that keeps somebody's data
// would. Without it nothing is flushed, which is quicker, and survives a crash of the
// server all the same, but not one of the machine.
func Durable() PostgresOption { return func(c *postgresConfig) { c.durable = true } }

// Setting sets a parameter of postgresql.conf, such as Setting("max_connections", "20").
func Setting(name, value string) PostgresOption {
	return func(c *postgresConfig) { c.settings = append(c.settings, name+"="+value) }
}

// Postgres starts a server that ends with the test. Where a test does not touch the
// server itself, [SharedPostgres] is quicker.
func Postgres(t testing.TB, opts ...PostgresOption) *PostgresServer {
	t.Helper()
	skipIfAsked(t, "postgres")
	server, err := StartPostgres(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// StartPostgres starts a server for a program that is not a test; the caller closes it.
func StartPostgres(opts ...PostgresOption) (*PostgresServer, error) {
	bin, err := postgresPrograms()
	if err != nil {
		return nil, err
	}
	owner, err := postgresOwner()
	if err != nil {
		return nil, err
	}
	config := postgresConfig{settings: []string{
		"listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=200", "shared_buffers=128MB",
		"log_destination=stderr", "logging_collector=off", "max_wal_size=4GB",
	}}
	for _, opt := range opts {
		opt(&config)
	}
	if !config.durable {
		config.settings = append([]string{"fsync=off", "full_page_writes=off"}, config.settings...)
	}
	s := &PostgresServer{bin: bin, owner: owner, settings: config.settings}
	if s.dir, err = os.MkdirTemp("", "braid-postgres-"); err != nil {
		return nil, err
	}
	if err := s.initialize(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	for range startTries {
		if s.port, err = freePort(); err != nil {
			break
		}
		if err = s.Start(); err == nil {
			return s, nil
		}
		if s.process != nil && s.process.running() {
			break // it has its port; another one would not help
		}
	}
	return nil, errors.Join(err, s.Close())
}

// postgresPrograms returns the folder of the newest version that is installed: where
// Debian puts them, else where the one lies that is on the PATH.
func postgresPrograms() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		version := func(path string) int {
			n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
			return n
		}
		return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })), nil
	}
	path, err := find("postgres", "postgres")
	if err != nil {
		return "", err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", err
	}
	return filepath.Dir(path), nil
}

// postgresOwner returns who is to run the server, which refuses root.
func postgresOwner() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		owner, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(owner.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(owner.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("postgres does not run as root, and there is no user postgres or nobody to run it as")
}

// initialize makes the server's data directory.
func (s *PostgresServer) initialize() error {
	if s.owner != nil {
		if err := os.Chown(s.dir, int(s.owner.Uid), int(s.owner.Gid)); err != nil {
			return err
		}
	}
	command := exec.Command(filepath.Join(s.bin, "initdb"), "--no-sync", "--auth=trust", "--username=postgres",
		"--encoding=UTF8", "--locale=C", "--pgdata="+s.data())
	command.Dir = s.dir
	command.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner}
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, output)
	}
	return nil
}

func (s *PostgresServer) data() string { return filepath.Join(s.dir, "data") }

// Port returns the server's port on 127.0.0.1.
func (s *PostgresServer) Port() int { return s.port }

// URL returns the server's postgres:// URL.
func (s *PostgresServer) URL() string {
	return "postgres://postgres@" + address(s.port) + "/postgres?sslmode=disable"
}

// Start starts a server that was stopped or killed, on its old port and with its data,
// and waits until it serves.
func (s *PostgresServer) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil && s.process.running() {
		return errors.New("the Postgres server on " + address(s.port) + " is running already")
	}
	args := []string{"-D", s.data(), "-p", strconv.Itoa(s.port)}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	process, err := startProcessAs(s.owner, log, s.dir, filepath.Join(s.bin, "postgres"), args...)
	if err != nil {
		return err
	}
	s.process = process
	return s.awaitServing()
}

// Stop shuts the server down in good order; sessions are ended.
func (s *PostgresServer) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return nil
	}
	if err := s.process.signal(syscall.SIGINT); err != nil {
		return err
	}
	return s.process.stop()
}

// Crash ends the server at once, as pg_ctl stop -m immediate does: it recovers from its
// log when it starts again.
func (s *PostgresServer) Crash() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return nil
	}
	if err := s.process.signal(syscall.SIGQUIT); err != nil {
		return err
	}
	timeout := time.NewTimer(stopTimeout)
	defer timeout.Stop()
	select {
	case <-s.process.done:
		return nil
	case <-timeout.C:
		return s.process.kill()
	}
}

// Restart is Stop and Start.
func (s *PostgresServer) Restart() error {
	if err := s.Stop(); err != nil {
		return err
	}
	return s.Start()
}

// Close ends the server and deletes its directory.
func (s *PostgresServer) Close() error { return errors.Join(s.Crash(), os.RemoveAll(s.dir)) }

// awaitServing waits until the server answers, also until it has recovered.
func (s *PostgresServer) awaitServing() error {
	deadline := time.Now().Add(servingTimeout)
	for {
		ready := exec.Command(filepath.Join(s.bin, "pg_isready"), "-q", "-h", "127.0.0.1", "-p", strconv.Itoa(s.port))
		if ready.Run() == nil {
			return nil
		}
		select {
		case <-s.process.done:
			return fmt.Errorf("the Postgres server on %s ended at once:\n%s", address(s.port), s.log())
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the Postgres server on %s does not serve after %v\n%s", address(s.port), servingTimeout, s.log())
		}
	}
}

func (s *PostgresServer) logFile() string { return filepath.Join(s.dir, "postgres.log") }

// log returns the end of the server's log, for error messages.
func (s *PostgresServer) log() string {
	text, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}
