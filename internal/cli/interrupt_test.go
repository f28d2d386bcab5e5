//go:build unix

package cli

import (
	"bytes"
	"syscall"
	"testing"
	"time"
)

func TestTheFirstSignalStopsInGoodOrderAndTheSecondAtOnce(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		var stderr bytes.Buffer
		exited := make(chan int, 1)
		ctx, stop := interruptible(t.Context(), &stderr, func(code int) { exited <- code })
		kill := func() {
			t.Helper()
			if err := syscall.Kill(syscall.Getpid(), sig); err != nil {
				t.Fatal(err)
			}
		}
		deadline := time.After(10 * time.Second)
		kill()
		select {
		case <-ctx.Done():
		case <-deadline:
			t.Fatalf("%v did not end the context", sig)
		}
		select {
		case code := <-exited:
			t.Fatalf("the first %v ended the process with %d", sig, code)
		default:
		}
		kill()
		select {
		case code := <-exited:
			if code != exitInterrupted {
				t.Errorf("exit code %d, want %d", code, exitInterrupted)
			}
		case <-deadline:
			t.Fatalf("the second %v did not end the process", sig)
		}
		if stderr.Len() == 0 {
			t.Error("nothing was said about the stop")
		}
		stop()
	}
}
