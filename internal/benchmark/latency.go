package benchmark

import (
	"slices"
	"time"
)

// distribution sums up durations; nil if there are none.
func distribution(of string, parts ...[]time.Duration) *Latency {
	all := slices.Concat(parts...)
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return &Latency{
		Of: of, P50: percentile(all, 50), P95: percentile(all, 95), P99: percentile(all, 99),
		Max: milliseconds(all[len(all)-1]),
	}
}

// percentile returns the smallest of the sorted durations that p percent of them do
// not exceed, in milliseconds.
func percentile(sorted []time.Duration, p int) float64 {
	rank := (len(sorted)*p + 99) / 100
	return milliseconds(sorted[max(rank, 1)-1])
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
