//go:build unix && !linux

package testserver

import "syscall"

// attributes keep a server out of the terminal's signals. Only Linux can end it with
// its parent; elsewhere it ends with the test's cleanup.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
