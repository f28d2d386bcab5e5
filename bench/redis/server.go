package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/braidmq/braid/bench/compare"
	"github.com/braidmq/braid/internal/testserver"
)

// server is the redis-server that the systems share.
type server struct {
	*testserver.RedisServer
}

// Empty deletes everything, and waits until the memory is given back.
func (s server) Empty() error {
	_, err := s.Do("FLUSHALL", "SYNC")
	return err
}

// Usage reads the processor time of the server, the time in scripts, and the memory in
// use. All systems do their work in scripts; the commands within one count as part of
// it.
func (s server) Usage() (compare.Usage, error) {
	info, err := s.Info("everything")
	if err != nil {
		return compare.Usage{}, err
	}
	var usage compare.Usage
	for _, field := range []string{"used_cpu_user", "used_cpu_sys"} {
		seconds, err := strconv.ParseFloat(info[field], 64)
		if err != nil {
			return usage, fmt.Errorf("INFO %s: %w", field, err)
		}
		usage.CPU += time.Duration(seconds * float64(time.Second))
	}
	for _, command := range []string{"eval", "evalsha", "fcall"} {
		_, after, found := strings.Cut(info["cmdstat_"+command], "usec=")
		if !found {
			continue // it was not called yet
		}
		microseconds, _, _ := strings.Cut(after, ",")
		n, err := strconv.ParseInt(microseconds, 10, 64)
		if err != nil {
			return usage, fmt.Errorf("INFO cmdstat_%s: %w", command, err)
		}
		usage.Commands += time.Duration(n) * time.Microsecond
	}
	if usage.Memory, err = strconv.ParseInt(info["used_memory"], 10, 64); err != nil {
		return usage, fmt.Errorf("INFO used_memory: %w", err)
	}
	return usage, nil
}
