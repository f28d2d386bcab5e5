package testserver

import "syscall"

// attributes keep a server out of the terminal's signals, and end it with its parent.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
