package testserver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// RedisServer is a redis-server that a test or benchmark started for itself. Its
// methods are safe for concurrent use.
type RedisServer struct {
	program string
	port    int
	dir     string
	config  string // its file of directives; empty: none
	args    []string

	mu      sync.Mutex
	process *process
}

// A RedisOption configures a server.
type RedisOption func(*redisConfig)

type redisConfig struct {
	directives [][]string
}

// Directive adds a line of redis.conf, such as Directive("maxmemory", "8mb"). Of
// several for one name the last counts.
func Directive(name string, values ...string) RedisOption {
	return func(c *redisConfig) { c.directives = append(c.directives, append([]string{name}, values...)) }
}

// AppendOnly makes the server keep its data through Restart and Kill, in an
// append-only file that is synced each second. Without it nothing is kept.
func AppendOnly() RedisOption { return Directive("appendonly", "yes") }

// ReplicaOf makes the server a read-only replica of another.
func ReplicaOf(primary *RedisServer) RedisOption {
	return Directive("replicaof", "127.0.0.1", strconv.Itoa(primary.port))
}

// Redis starts a server that ends with the test. Where a test does not touch the
// server itself, [SharedRedis] is quicker.
func Redis(t testing.TB, opts ...RedisOption) *RedisServer {
	t.Helper()
	skipIfAsked(t, "redis")
	server, err := StartRedis(opts...)
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

// startTries is how many ports are tried: another process may take one between the
// look and the start.
const startTries = 5

// StartRedis starts a server for a program that is not a test; the caller closes it.
func StartRedis(opts ...RedisOption) (*RedisServer, error) {
	program, err := find("redis", "redis-server", "valkey-server")
	if err != nil {
		return nil, err
	}
	config := redisConfig{directives: [][]string{
		{"bind", "127.0.0.1"}, {"save", ""}, {"appendonly", "no"}, {"logfile", "redis.log"},
		{"repl-diskless-sync-delay", "0"}, // a replica need not wait for others to come
	}}
	for _, opt := range opts {
		opt(&config)
	}
	var args []string
	for _, directive := range config.directives {
		args = append(args, "--"+directive[0])
		args = append(args, directive[1:]...)
	}
	return startRedis(program, "", args)
}

// startRedis starts a server with a file of directives, unless config is empty, and args.
func startRedis(program, config string, args []string) (*RedisServer, error) {
	var failed error
	for range startTries {
		s := &RedisServer{program: program, args: args}
		var err error
		if s.port, err = freePort(); err != nil {
			return nil, err
		}
		if s.dir, err = os.MkdirTemp("", "braid-redis-"); err != nil {
			return nil, err
		}
		if config != "" {
			s.config = filepath.Join(s.dir, "redis.conf")
			if err := os.WriteFile(s.config, []byte(config), 0o600); err != nil {
				return nil, err
			}
		}
		if err = s.Start(); err == nil {
			return s, nil
		}
		failed = err
		if err := s.Close(); err != nil {
			return nil, err
		}
	}
	return nil, failed
}

// Addr returns host:port.
func (s *RedisServer) Addr() string { return address(s.port) }

// URL returns the server's redis:// URL.
func (s *RedisServer) URL() string { return "redis://" + s.Addr() }

// PID returns the process id of the running server; 0 if it is stopped.
func (s *RedisServer) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil || !s.process.running() {
		return 0
	}
	return s.process.command.Process.Pid
}

// Start starts a server that was stopped or killed, on its old port and with its old
// directory, and waits until it serves.
func (s *RedisServer) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil && s.process.running() {
		return errors.New("the redis-server on " + s.Addr() + " is running already")
	}
	args := append([]string{"--port", strconv.Itoa(s.port)}, s.args...)
	if s.config != "" {
		args = append([]string{s.config}, args...)
	}
	process, err := startProcess(s.dir, s.program, args...)
	if err != nil {
		return err
	}
	s.process = process
	return s.awaitServing()
}

// Stop shuts the server down in good order.
func (s *RedisServer) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return nil
	}
	return s.process.stop()
}

// Kill ends the server as a crash would.
func (s *RedisServer) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return nil
	}
	return s.process.kill()
}

// Restart is Stop and Start.
func (s *RedisServer) Restart() error {
	if err := s.Stop(); err != nil {
		return err
	}
	return s.Start()
}

// Close ends the server and deletes its directory.
func (s *RedisServer) Close() error {
	return errors.Join(s.Kill(), os.RemoveAll(s.dir))
}

// servingTimeout is how long a server may take from its start until it serves.
const servingTimeout = 20 * time.Second

// awaitServing waits until the server answers, also until it has loaded its data.
func (s *RedisServer) awaitServing() error {
	deadline := time.Now().Add(servingTimeout)
	for {
		reply, err := s.Do("PING")
		if err == nil && reply == "PONG" {
			return nil
		}
		select {
		case <-s.process.done:
			return fmt.Errorf("redis-server on %s ended at once:\n%s", s.Addr(), s.log())
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("redis-server on %s does not serve after %v: %w\n%s", s.Addr(), servingTimeout, err, s.log())
		}
	}
}

// log returns the end of the server's log, for error messages.
func (s *RedisServer) log() string {
	text, err := os.ReadFile(filepath.Join(s.dir, "redis.log"))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}
