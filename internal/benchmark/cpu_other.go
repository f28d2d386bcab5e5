//go:build !unix

package benchmark

import "time"

// cpuTime returns 0 where the system does not tell.
func cpuTime() time.Duration { return 0 }
