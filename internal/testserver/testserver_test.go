package testserver

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) { os.Exit(Main(m).Run()) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func do(t *testing.T, s *RedisServer, args ...string) string {
	t.Helper()
	reply, err := s.Do(args...)
	must(t, err)
	return reply
}

func TestAServerForgetsAndOneWithAppendOnlyDoesNot(t *testing.T) {
	plain, durable := Redis(t), Redis(t, AppendOnly())
	for _, s := range []*RedisServer{plain, durable} {
		do(t, s, "SET", "a", "1")
		must(t, s.Restart())
	}
	if got := do(t, plain, "GET", "a"); got != "" {
		t.Errorf("plain: %q after a restart", got)
	}
	if got := do(t, durable, "GET", "a"); got != "1" {
		t.Errorf("append only: %q after a restart", got)
	}
	do(t, durable, "SET", "b", "2")
	must(t, durable.Kill())
	if _, err := durable.Do("PING"); err == nil {
		t.Error("a killed server answers")
	}
	must(t, durable.Start())
	if got := do(t, durable, "GET", "b"); got != "2" {
		t.Errorf("append only: %q after a crash", got)
	}
}

func TestAnEndedServerLeavesNothing(t *testing.T) {
	s, err := StartRedis()
	must(t, err)
	pid := s.PID()
	if pid == 0 {
		t.Fatal("no process id")
	}
	must(t, s.Close())
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d: %v", pid, err)
	}
	if _, err := os.Stat(s.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("directory: %v", err)
	}
	if s.PID() != 0 {
		t.Error("it has a process id still")
	}
}

func TestDirectivesAndInfo(t *testing.T) {
	s := Redis(t, Directive("maxmemory", "10mb"))
	info, err := s.Info("memory")
	must(t, err)
	if info["maxmemory"] != strconv.Itoa(10<<20) {
		t.Errorf("maxmemory %q", info["maxmemory"])
	}
	if _, err := s.Do("NOSUCHCOMMAND"); err == nil || !strings.Contains(err.Error(), "unknown command") {
		t.Errorf("unknown command: %v", err)
	}
	do(t, s, "RPUSH", "list", "x", "y")
	if got := do(t, s, "LRANGE", "list", "0", "-1"); got != "x\ny" {
		t.Errorf("array: %q", got)
	}
}

func TestAServerThatCannotStartSaysWhy(t *testing.T) {
	if _, err := StartRedis(Directive("maxmemory-policy", "nonsense")); err == nil {
		t.Error("it started")
	}
}

func TestAReplicaRefusesWrites(t *testing.T) {
	primary := Redis(t)
	replica := Redis(t, ReplicaOf(primary))
	if _, err := replica.Do("SET", "a", "1"); err == nil || !strings.Contains(err.Error(), "READONLY") {
		t.Errorf("write: %v", err)
	}
}

func TestAClusterServesEverySlotOnOneNode(t *testing.T) {
	cluster := NewRedisCluster(t, 3)
	for i := range 20 {
		key, served := "key"+strconv.Itoa(i), 0
		for _, node := range cluster.Nodes {
			if _, err := node.Do("SET", key, "1"); err == nil {
				served++
			} else if !strings.Contains(err.Error(), "MOVED") {
				t.Error(err)
			}
		}
		if served != 1 {
			t.Errorf("%s: served by %d nodes", key, served)
		}
	}
	if got := cluster.URL(); strings.Count(got, "addr=") != 2 {
		t.Error(got)
	}
}

func TestTheSharedServerIsOneAndEndsWithMain(t *testing.T) {
	t.Setenv(redisVariable, "")
	url := SharedRedis(t)
	if again := SharedRedis(t); again != url {
		t.Errorf("%s, then %s", url, again)
	}
	t.Setenv(redisVariable, "redis://elsewhere")
	if got := SharedRedis(t); got != "redis://elsewhere" {
		t.Error(got)
	}
	pid := shared.redis.PID()
	must(t, stopShared())
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d: %v", pid, err)
	}
}

func TestAProxyPassesStallsAndCuts(t *testing.T) {
	s := Redis(t)
	p := NewProxy(t, s.Addr())
	dial := func() (net.Conn, *bufio.Reader) {
		conn, err := net.Dial("tcp", p.Addr())
		must(t, err)
		t.Cleanup(func() { conn.Close() })
		return conn, bufio.NewReader(conn)
	}
	send := func(conn net.Conn, command string) {
		_, err := io.WriteString(conn, command+"\r\n")
		must(t, err)
	}
	answer := func(conn net.Conn, r *bufio.Reader, within time.Duration) string {
		must(t, conn.SetReadDeadline(time.Now().Add(within)))
		line, err := r.ReadString('\n')
		if err != nil {
			return err.Error()
		}
		return strings.TrimSpace(line)
	}
	const long, short = 10 * time.Second, 100 * time.Millisecond

	conn, r := dial()
	send(conn, "PING")
	if got := answer(conn, r, long); got != "+PONG" {
		t.Fatalf("pass: %q", got)
	}
	p.Set(Stall)
	send(conn, "SET stalled 1")
	other, otherReader := dial()
	send(other, "PING")
	if got := answer(conn, r, short); !strings.Contains(got, "timeout") {
		t.Errorf("stall: %q", got)
	}
	if got := answer(other, otherReader, short); !strings.Contains(got, "timeout") {
		t.Errorf("stall, new connection: %q", got)
	}
	if got := do(t, s, "EXISTS", "stalled"); got != "0" {
		t.Error("stall: the request reached the server")
	}
	p.Set(Pass)
	if got := answer(conn, r, long); got != "+OK" {
		t.Errorf("pass again: %q", got)
	}
	p.Set(StallReplies)
	send(conn, "SET silent 1")
	deadline := time.Now().Add(long)
	for do(t, s, "EXISTS", "silent") != "1" {
		if time.Now().After(deadline) {
			t.Fatal("stalled replies: the request did not reach the server")
		}
	}
	if got := answer(conn, r, short); !strings.Contains(got, "timeout") {
		t.Errorf("stalled replies: %q", got)
	}
	p.Set(Cut)
	if got := answer(conn, r, long); strings.Contains(got, "timeout") || got == "+OK" {
		t.Errorf("cut: %q", got)
	}
	conn, r = dial()
	if got := answer(conn, r, long); strings.Contains(got, "timeout") {
		t.Errorf("cut, new connection: %q", got)
	}
	p.Set(Pass)
	conn, r = dial()
	send(conn, "PING")
	if got := answer(conn, r, long); got != "+PONG" {
		t.Errorf("pass at last: %q", got)
	}
	elsewhere := Redis(t)
	do(t, elsewhere, "SET", "here", "1")
	p.Retarget(elsewhere.Addr())
	if got := answer(conn, r, long); got != "EOF" && !strings.Contains(got, "reset") {
		t.Errorf("another target, old connection: %q", got)
	}
	conn, r = dial()
	send(conn, "EXISTS here")
	if got := answer(conn, r, long); got != ":1" {
		t.Errorf("another target: %q", got)
	}
}
