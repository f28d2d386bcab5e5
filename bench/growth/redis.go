package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/testserver"
	"github.com/braidmq/braid/redisstore"
)

// redisTarget is the Redis store on a server of its own, measured by the server: the
// time that its commands took.
type redisTarget struct{ server *testserver.RedisServer }

func newRedis() (target, error) {
	server, err := testserver.StartRedis(
		testserver.Directive("slowlog-log-slower-than", "1000"), // µs
		testserver.Directive("slowlog-max-len", "10000"),
	)
	if err != nil {
		return nil, err
	}
	return redisTarget{server}, nil
}

func (r redisTarget) name() string     { return "redis" }
func (r redisTarget) measures() string { return "server time" }
func (r redisTarget) close() error     { return r.server.Close() }

func (r redisTarget) fresh(ctx context.Context) (driver.Store, meter, error) {
	if _, err := r.server.Do("FLUSHALL", "SYNC"); err != nil {
		return nil, nil, err
	}
	m := &commandMeter{server: r.server, sent: make(map[string]bool)}
	client := redis.NewClient(&redis.Options{Addr: r.server.Addr(), MaxRetries: -1})
	client.AddHook(m)
	store, err := redisstore.New(ctx, client, redisstore.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	if err != nil {
		return nil, nil, err
	}
	return owned{store, client}, m, nil
}

// owned closes the client with the store.
type owned struct {
	driver.Store
	client *redis.Client
}

func (o owned) Close() error {
	if err := o.Store.Close(); err != nil {
		return err
	}
	return o.client.Close()
}

// commandMeter adds up the time of the commands that a client sends, as the server
// counts it. A command within a script is part of the script's time; if the client also
// sends that command by itself, it counts twice, so the sum is never too small.
type commandMeter struct {
	server *testserver.RedisServer

	mu     sync.Mutex
	sent   map[string]bool // the commands since start, by their lower-case names
	before map[string]time.Duration
}

func (m *commandMeter) reset() error {
	_, err := m.server.Do("SLOWLOG", "RESET")
	return err
}

func (m *commandMeter) start() (err error) {
	m.mu.Lock()
	clear(m.sent)
	m.mu.Unlock()
	m.before, err = m.times()
	return err
}

func (m *commandMeter) stop() (time.Duration, error) {
	after, err := m.times()
	if err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var total time.Duration
	for command := range m.sent {
		total += after[command] - m.before[command]
	}
	return total, nil
}

// times reads how long each kind of command has taken since the server started.
func (m *commandMeter) times() (map[string]time.Duration, error) {
	info, err := m.server.Info("commandstats")
	if err != nil {
		return nil, err
	}
	times := make(map[string]time.Duration)
	for field, value := range info {
		command, isCommand := strings.CutPrefix(field, "cmdstat_")
		_, after, found := strings.Cut(value, "usec=")
		if !isCommand || !found {
			continue
		}
		microseconds, _, _ := strings.Cut(after, ",")
		n, err := strconv.ParseInt(microseconds, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("INFO %s: %w", field, err)
		}
		command, _, _ = strings.Cut(command, "|") // a subcommand counts for its command
		times[command] += time.Duration(n) * time.Microsecond
	}
	return times, nil
}

// worst returns the slowest entry of the slow log.
func (m *commandMeter) worst() (string, error) {
	client := redis.NewClient(&redis.Options{Addr: m.server.Addr()})
	defer func() { _ = client.Close() }()
	entries, err := client.SlowLogGet(context.Background(), -1).Result()
	if err != nil {
		return "", err
	}
	var slowest redis.SlowLog
	over := 0
	for _, entry := range entries {
		if slices.Contains([]string{"SLOWLOG", "INFO", "FLUSHALL"}, entry.Args[0]) {
			continue // not the store's
		}
		if entry.Duration > slowest.Duration {
			slowest = entry
		}
		if entry.Duration > longestCall {
			over++
		}
	}
	if slowest.Duration == 0 {
		return "none over 1 ms", nil
	}
	return fmt.Sprintf("%v, %.80q; %d over %v", slowest.Duration, strings.Join(slowest.Args, " "), over, longestCall), nil
}

// longestCall is how long no call may take.
const longestCall = 10 * time.Millisecond

// DialHook is part of redis.Hook.
func (m *commandMeter) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook is part of redis.Hook: it notes the command.
func (m *commandMeter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		m.note(cmd)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook is part of redis.Hook: it notes the commands.
func (m *commandMeter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		m.note(cmds...)
		return next(ctx, cmds)
	}
}

func (m *commandMeter) note(cmds ...redis.Cmder) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, cmd := range cmds {
		m.sent[strings.ToLower(cmd.Name())] = true
	}
}
