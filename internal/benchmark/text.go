package benchmark

import (
	"fmt"
	"io"
	"math"
	"strconv"
)

// WriteText writes the phase for people.
func (p Phase) WriteText(out io.Writer) error {
	text := fmt.Sprintf("%s: %s jobs/s, %.1f µs of CPU per job\n  %s jobs in %.2f s: %s\n",
		p.Name, grouped(p.JobsPerSecond), p.CPUMicros, grouped(float64(p.Jobs)), p.Seconds, p.Measured)
	if l := p.Latency; l != nil {
		text += fmt.Sprintf("  %s: p50 %.3f ms, p95 %.3f ms, p99 %.3f ms, max %.3f ms\n", l.Of, l.P50, l.P95, l.P99, l.Max)
	}
	_, err := io.WriteString(out, text)
	return err
}

// WriteText writes the memory for people.
func (m Memory) WriteText(out io.Writer) error {
	mb := func(bytes uint64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }
	_, err := fmt.Fprintf(out, "memory\n  heap in use: %s at the start, %s with the backlog, %s with the backlog processed, %s at the end\n"+
		"  goroutines at the end: %d\n", mb(m.Start), mb(m.Backlog), mb(m.Processed), mb(m.End), m.Goroutines)
	return err
}

// grouped formats a number without fraction, with commas between its thousands.
func grouped(n float64) string {
	digits := strconv.FormatInt(int64(math.Round(n)), 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
