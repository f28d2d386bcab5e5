package redisstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/braidmq/braid/driver"
)

// replyError is an error reply of a server.
type replyError string

func (e replyError) Error() string { return string(e) }
func (replyError) RedisError()     {}

func TestErrorsTellWhetherToTryAgainAndWhatIsKnown(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for _, c := range []struct {
		name               string
		err                error
		retryable, unknown bool
	}{
		{"connection refused", refused, true, false},
		{"connection refused, wrapped", fmt.Errorf("dial: %w", refused), true, false},
		{"connection reset", &net.OpError{Op: "read", Err: syscall.ECONNRESET}, true, true},
		{"no reply in time", &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, true, true},
		{"end of the connection", io.EOF, true, true},
		{"no connection free", redis.ErrPoolTimeout, true, false},
		{"a replica", replyError("READONLY You can't write against a read only replica."), true, false},
		{"a replica, met by a script", replyError("READONLY You can't write against a read only replica. script: 7e, on @user_script:1."), true, false},
		{"a replica, met by a script on 6.2", replyError("ERR Error running script (call to f_7e): @user_script:1: @user_script: 1: -READONLY You can't write against a read only replica."), true, false},
		{"starting", replyError("LOADING Redis is loading the dataset in memory"), true, false},
		{"no memory", replyError("OOM command not allowed when used memory > 'maxmemory'."), true, false},
		{"cannot persist", replyError("MISCONF Redis is configured to save RDB snapshots"), true, false},
		{"a script runs too long", replyError("BUSY Redis is busy running a script."), true, false},
		{"script forgotten twice", replyError("NOSCRIPT No matching script."), true, false},
		{"cluster down", replyError("CLUSTERDOWN The cluster is down"), true, false},
		{"moved", replyError("MOVED 3999 127.0.0.1:6381"), true, false},
		{"asked to go on", replyError("ASK 3999 127.0.0.1:6381"), true, false},
		{"primary gone", replyError("MASTERDOWN Link with MASTER is down"), true, false},
		{"too few replicas", replyError("NOREPLICAS Not enough good replicas to write."), true, false},
		{"no permission", replyError("NOPERM User default has no permissions to run the 'evalsha' command"), false, false},
		{"no password", replyError("NOAUTH Authentication required."), false, false},
		{"wrong password", replyError("WRONGPASS invalid username-password pair"), false, false},
		{"a script's own error", replyError("ERR user_script:3: attempt to index a nil value"), false, true},
		{"a damaged record", errCorrupt, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := storeError("Claim", c.err)
			var told *driver.StoreError
			if !errors.As(err, &told) || !errors.Is(err, c.err) || told.Op != "Claim" {
				t.Fatalf("%#v is no StoreError of Claim that wraps the cause", err)
			}
			if told.Retryable != c.retryable || told.OutcomeUnknown != c.unknown {
				t.Errorf("retryable %v, unknown %v; want %v, %v", told.Retryable, told.OutcomeUnknown, c.retryable, c.unknown)
			}
		})
	}
	if err := storeError("Claim", redis.ErrClosed); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("a closed client gives %v, want ErrClosed", err)
	}
}

func TestACallThatItsContextEndsHasAnUnknownOutcome(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	began, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	go func() {
		<-began
		cancel()
	}()
	err := await(ctx, func() {
		close(began)
		<-release
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("await returned %v, want the context's error", err)
	}
	if err := lost("Enqueue", err); !driver.OutcomeUnknown(err) || !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v; want an unknown outcome that wraps the context's error", err)
	}
}
