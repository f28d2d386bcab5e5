package testserver

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// PgBouncer starts a pooler in front of a Postgres server, which hands out a connection
// for each transaction, and returns its URL. It ends with the test.
func PgBouncer(t testing.TB, postgres string) string {
	t.Helper()
	skipIfAsked(t, "postgres")
	program, err := find("postgres", "pgbouncer", "/usr/sbin/pgbouncer")
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(postgres)
	if err != nil {
		t.Fatal(err)
	}
	owner, err := postgresOwner()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "braid-pgbouncer-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if owner != nil {
		if err := os.Chown(dir, int(owner.Uid), int(owner.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	var failed error
	for range startTries {
		port, err := freePort()
		if err != nil {
			t.Fatal(err)
		}
		if failed = startPgBouncer(t, program, dir, target.Host, port); failed == nil {
			target.Host = address(port)
			return target.String()
		}
	}
	t.Fatal(failed)
	return ""
}

func startPgBouncer(t testing.TB, program, dir, target string, port int) error {
	host, targetPort, err := net.SplitHostPort(target)
	if err != nil {
		return err
	}
	config := fmt.Sprintf(`[databases]
* = host=%s port=%s user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 20
max_client_conn = 500
ignore_startup_parameters = extra_float_digits
`, host, targetPort, port)
	path := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(path, []byte(config), 0o644); err != nil { //nolint:gosec // its user reads it
		return err
	}
	owner, err := postgresOwner()
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(dir, "pgbouncer.log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	process, err := startProcessAs(owner, log, dir, program, path)
	if err != nil {
		return err
	}
	t.Cleanup(func() { _ = process.kill() })
	deadline := time.Now().Add(servingTimeout)
	for {
		conn, err := net.Dial("tcp", address(port))
		if err == nil {
			return conn.Close()
		}
		select {
		case <-process.done:
			text, _ := os.ReadFile(log.Name())
			return fmt.Errorf("pgbouncer on %s ended at once:\n%s", address(port), text)
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return errors.Join(err, process.kill())
		}
	}
}
