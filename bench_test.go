package braid_test

import (
	"strings"
	"testing"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/memstore"
)

// BenchmarkEnqueueMany measures what a batch of a thousand costs per job, through
// the typed API, on the memory store.
func BenchmarkEnqueueMany(b *testing.B) {
	client := braid.NewClient(memstore.New())
	job := braid.NewJob[string, braid.None]("job")
	payloads := make([]string, 1000)
	for i := range payloads {
		payloads[i] = strings.Repeat("x", 35)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := job.EnqueueMany(b.Context(), client, payloads); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/job")
}
