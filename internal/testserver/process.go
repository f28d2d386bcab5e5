package testserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is a running server.
type process struct {
	command *exec.Cmd
	done    chan struct{} // closed when it has ended
}

// stopTimeout is how long a server may take to end by itself before it is killed.
const stopTimeout = 10 * time.Second

// startProcess starts a program that ends, at the latest, when this process does.
func startProcess(dir, program string, args ...string) (*process, error) {
	return startProcessAs(nil, nil, dir, program, args...)
}

// startProcessAs is startProcess as another user, unless owner is nil, and with its
// output in a file, unless that is nil.
func startProcessAs(owner *syscall.Credential, output *os.File, dir, program string, args ...string) (*process, error) {
	p := &process{command: exec.Command(program, args...), done: make(chan struct{})}
	p.command.Dir = dir
	p.command.SysProcAttr = attributes()
	p.command.SysProcAttr.Credential = owner
	if output != nil {
		p.command.Stdout, p.command.Stderr = output, output
	}
	started := make(chan error)
	go func() {
		// The kernel ties a child's life to the thread that started it, so that
		// thread must live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		err := p.command.Start()
		started <- err
		if err == nil {
			_ = p.command.Wait() // a server that was killed has a failing status
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	return p, nil
}

// running reports whether the process has not ended.
func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// stop asks the process to end and waits for it; one that does not obey is killed.
func (p *process) stop() error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	timeout := time.NewTimer(stopTimeout)
	defer timeout.Stop()
	select {
	case <-p.done:
		return nil
	case <-timeout.C:
		return p.kill()
	}
}

// kill ends the process at once, as a crash would, and waits for it.
func (p *process) kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}

// signal sends a signal; to one that has ended it does nothing.
func (p *process) signal(s syscall.Signal) error {
	if !p.running() {
		return nil
	}
	err := p.command.Process.Signal(s)
	if err != nil && p.running() && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %v to process %d: %w", s, p.command.Process.Pid, err)
	}
	return nil
}
