//go:build unix

package benchmark

import (
	"syscall"
	"time"
)

// cpuTime returns the CPU time that this process has used, of all threads.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
