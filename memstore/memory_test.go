package memstore

import (
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"weak"

	"github.com/braidmq/braid/driver"
)

// claimAndFinish enqueues jobs with payloads, claims them all at once, and ends each
// but the first with its own kind of ack. It returns weak pointers to the payloads.
func claimAndFinish(t *testing.T, s *Store, jobs int) []weak.Pointer[byte] {
	t.Helper()
	ctx := t.Context()
	none := driver.Retention{Count: driver.Some(int64(0))}
	payloads := make([]weak.Pointer[byte], jobs)
	batch := make([]driver.EnqueueRequest, jobs)
	for i := range batch {
		batch[i] = request(fmt.Sprintf("%03d", i))
		batch[i].Payload = make([]byte, 4096)
		batch[i].Keep = &driver.Keep{Completed: none, Failed: none, Cancelled: none}
		payloads[i] = weak.Make(&batch[i].Payload[0])
	}
	if _, err := s.Enqueue(ctx, 0, batch); err != nil {
		t.Fatal(err)
	}
	got, err := s.Claim(ctx, 0, driver.ClaimRequest{Queue: "q", Names: []string{"n"}, Token: "t", Limit: jobs, LockDuration: 1000})
	if err != nil || len(got.Jobs) != jobs {
		t.Fatalf("claimed %d of %d jobs, %v", len(got.Jobs), jobs, err)
	}
	acks := make([]driver.Ack, 0, jobs)
	for i, job := range got.Jobs[1:] {
		kinds := []driver.AckKind{driver.AckComplete, driver.AckFail, driver.AckCancelled}
		acks = append(acks, driver.Ack{ID: job.ID, Token: "t", Kind: kinds[i%len(kinds)]})
	}
	results, err := s.Ack(ctx, 1, acks)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.Err != nil {
			t.Fatalf("ack %d: %v", i, r.Err)
		}
	}
	return payloads
}

func TestAFinishedJobIsFreedWhileOthersOfItsClaimStillRun(t *testing.T) {
	s := New()
	const jobs = 200
	payloads := claimAndFinish(t, s, jobs)
	runtime.GC()
	kept := 0
	for _, p := range payloads {
		if p.Value() != nil {
			kept++
		}
	}
	if kept != 1 {
		t.Errorf("%d of %d payloads are in memory; only one job is left", kept, jobs)
	}
	if err := s.CheckInvariants(); err != nil {
		t.Error(err)
	}
	// The one that is left is still found by its token.
	got, err := s.Claim(t.Context(), 2, driver.ClaimRequest{
		Queue: "q", Names: []string{"n"}, Token: "t", Limit: jobs, LockDuration: 1000, Resume: true,
	})
	if err != nil || len(got.Jobs) != 1 || got.Jobs[0].ID != "000" {
		t.Errorf("resumed: %+v, %v", got.Jobs, err)
	}
}

// A token that is resumed may claim a job again that it has released.
func TestAResumedTokenReturnsAJobOnce(t *testing.T) {
	s := New()
	ctx := t.Context()
	if _, err := s.Enqueue(ctx, 0, []driver.EnqueueRequest{request("a"), request("b")}); err != nil {
		t.Fatal(err)
	}
	claim := driver.ClaimRequest{Queue: "q", Names: []string{"n"}, Token: "t", Limit: 2, LockDuration: 1000}
	if got, err := s.Claim(ctx, 0, claim); err != nil || len(got.Jobs) != 2 {
		t.Fatalf("claim: %+v, %v", got, err)
	}
	if _, err := s.Ack(ctx, 1, []driver.Ack{{ID: "a", Token: "t", Kind: driver.AckRelease}}); err != nil {
		t.Fatal(err)
	}
	claim.Resume = true
	for range 2 {
		got, err := s.Claim(ctx, 2, claim)
		if err != nil || len(got.Jobs) != 2 || got.Jobs[0].ID == got.Jobs[1].ID {
			t.Fatalf("resumed: %+v, %v", got, err)
		}
		if err := s.CheckInvariants(); err != nil {
			t.Fatal(err)
		}
	}
}

// A key whose job is gone, as no call leaves it, holds nothing.
func TestAKeyWhoseJobVanishedIsTakenOver(t *testing.T) {
	for name, expires := range map[string]driver.Opt[driver.Time]{
		"until its job has finished": {},
		"a window that is over":      driver.Some(driver.Time(100)),
	} {
		t.Run(name, func(t *testing.T) {
			s := New()
			ctx := t.Context()
			gone := &dedupeEntry{dedupeKey: dedupeKey{"n", "k"}, id: "gone", expiresAt: expires}
			s.dedupes[gone.dedupeKey] = gone
			if expires.Set {
				s.dedupeEnds.Set(gone)
			}
			if found, err := s.CancelByDedupe(ctx, 100, "n", "k"); found || err != nil {
				t.Errorf("CancelByDedupe: %v, %v", found, err)
			}
			for i, want := range []driver.EnqueueResult{{ID: "a"}, {ID: "a", Duplicate: true}} {
				r := request([]string{"a", "b"}[i])
				r.Dedupe = &driver.Dedupe{Key: "k", Replace: true, Extend: true}
				if got, err := s.Enqueue(ctx, 100, []driver.EnqueueRequest{r}); err != nil || got[0] != want {
					t.Errorf("enqueue %d: %+v, %v; want %+v", i, got, err, want)
				}
			}
			if err := s.CheckInvariants(); err != nil {
				t.Error(err)
			}
			if removed, err := s.Remove(ctx, 100, []string{"a"}); err != nil || !removed[0] || len(s.dedupes)+s.dedupeEnds.Len() != 0 {
				t.Errorf("with its new job gone, %d keys are left (%v, %v)", len(s.dedupes), removed, err)
			}
		})
	}
}

func TestTheMemoryOfALargeBacklogIsFreedWithIt(t *testing.T) {
	const jobs = 50_000
	s := New()
	before := heapInUse()
	batch := make([]driver.EnqueueRequest, jobs)
	for i := range batch {
		batch[i] = request(strconv.Itoa(i))
	}
	ids := make([]string, jobs)
	for i := range batch {
		ids[i] = batch[i].ID
	}
	if _, err := s.Enqueue(t.Context(), 0, batch); err != nil {
		t.Fatal(err)
	}
	full := heapInUse()
	if _, err := s.Remove(t.Context(), 0, ids); err != nil {
		t.Fatal(err)
	}
	after := heapInUse()
	if held := full - before; after-before > held/50 {
		t.Errorf("%d jobs took %d bytes, of which %d stay when all are gone", jobs, held, after-before)
	}
	runtime.KeepAlive(s)
}

// heapInUse returns the bytes in use after a garbage collection.
func heapInUse() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
