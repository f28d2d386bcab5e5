//go:build unix

package braid_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/braidmq/braid"
)

// The name of the environment variable that makes the test below the program that
// is signalled.
const signalled = "BRAID_TEST_SIGNALLED"

func TestTheFirstSignalStopsGracefullyAndTheSecondAtOnce(t *testing.T) {
	if os.Getenv(signalled) != "" {
		ctx, stop := braid.SignalContext(context.Background())
		defer stop()
		fmt.Println("ready")
		<-ctx.Done()
		fmt.Println("stopping")
		time.Sleep(time.Hour) // a stop that takes its time
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		program := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+t.Name()+"$")
		program.Env = append(os.Environ(), signalled+"=yes")
		out, err := program.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := program.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for _, want := range []string{"ready", "stopping"} {
			if !lines.Scan() || lines.Text() != want {
				t.Fatalf("%v: the program says %q, want %q", signal, lines.Text(), want)
			}
			if err := program.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
		}
		// The second signal may have come before the program had stopped to listen.
		ended := make(chan error, 1)
		go func() { ended <- program.Wait() }()
		for again := time.NewTicker(100 * time.Millisecond); ; {
			select {
			case err = <-ended:
			case <-again.C:
				if err := program.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
					t.Error(err)
				}
				continue
			}
			again.Stop()
			break
		}
		state := program.ProcessState.Sys().(syscall.WaitStatus)
		if !state.Signaled() || state.Signal() != signal {
			t.Errorf("the program ended with %v, want it to die of its second %v", err, signal)
		}
	}
}

func TestASignalContextEndsWithItsParent(t *testing.T) {
	parent, cancel := context.WithCancel(t.Context())
	ctx, stop := braid.SignalContext(parent)
	defer stop()
	if ctx.Err() != nil {
		t.Errorf("it has ended: %v", ctx.Err())
	}
	cancel()
	<-ctx.Done()
}
