package braid_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/faultstore"
	"github.com/braidmq/braid/memstore"
)

// callLimit is the time limit of one call to a store.
const callLimit = 10 * time.Second

func passing(unknown bool) error {
	return &driver.StoreError{Op: "Enqueue", Err: faultstore.ErrInjected, Retryable: true, OutcomeUnknown: unknown}
}

func numbered(n int) []int {
	payloads := make([]int, n)
	for i := range payloads {
		payloads[i] = i
	}
	return payloads
}

func TestALongBatchOutlastsTheTimeLimitOfOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stub := newStub()
		b := newBenchOn(t, stub)
		longest := 0
		stub.enqueue = func(ctx context.Context, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
			longest = max(longest, len(batch))
			select { // slow, but well
			case <-time.After(time.Duration(len(batch)) * 8 * time.Millisecond):
				return stub.apply(ctx, batch)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		job := braid.NewJob[int, int]("job")
		handles, err := job.EnqueueMany(b.ctx, b.client, numbered(5000))
		if err != nil {
			t.Fatalf("EnqueueMany: %v", err)
		}
		seen := make(map[string]bool)
		for i, handle := range handles {
			if handle == nil || seen[handle.ID] {
				t.Fatalf("handle %d is %+v", i, handle)
			}
			seen[handle.ID] = true
		}
		if info, err := handles[4999].Get(b.ctx); err != nil || string(info.Payload) != "4999" {
			t.Errorf("the last job is %+v (%v)", info, err)
		}
		if longest < 500 {
			t.Errorf("no call took more than %d jobs, which wastes round trips", longest)
		}
	})
}

func TestOneCallOfABatchIsBoundedInBytes(t *testing.T) {
	stub := newStub()
	b := newBenchOn(t, stub)
	stub.enqueue = func(ctx context.Context, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
		size := 0
		for _, req := range batch {
			size += len(req.Payload)
		}
		if size > driver.ChunkBytes && len(batch) > 1 {
			t.Errorf("one call moves %d bytes", size)
		}
		return stub.apply(ctx, batch)
	}
	job := braid.NewJob[string, int]("job")
	payloads := make([]string, 5)
	for i := range payloads {
		payloads[i] = strings.Repeat(strconv.Itoa(i), 3<<20)
	}
	payloads[3] = strings.Repeat("3", driver.ChunkBytes+1) // larger than a call, goes alone
	handles, err := job.EnqueueMany(b.ctx, b.client, payloads)
	if err != nil {
		t.Fatal(err)
	}
	for i, handle := range handles {
		if info, err := handle.Get(b.ctx); err != nil || len(info.Payload) != len(payloads[i])+2 || info.Payload[len(info.Payload)-2] != byte('0'+i) {
			t.Errorf("job %d has %d bytes (%v)", i, len(info.Payload), err)
		}
	}
}

func TestARepeatedBatchGoesOnBehindWhatWasApplied(t *testing.T) {
	stub := newStub()
	b := newBenchOn(t, stub)
	var sizes []int
	stub.enqueue = func(ctx context.Context, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
		sizes = append(sizes, len(batch))
		if len(sizes) > 1 {
			return stub.apply(ctx, batch)
		}
		results, err := stub.apply(ctx, batch[:3])
		if err != nil {
			return nil, err
		}
		return results, &driver.PartialError{Applied: 3, Err: passing(false)}
	}
	job := braid.NewJob[int, int]("job")
	handles, err := job.EnqueueMany(b.ctx, b.client, numbered(10))
	if err != nil {
		t.Fatal(err)
	}
	for i, handle := range handles {
		if info, err := handle.Get(b.ctx); err != nil || string(info.Payload) != fmt.Sprint(i) {
			t.Errorf("handle %d leads to %+v (%v)", i, info, err)
		}
	}
	if counts, err := b.client.Counts(b.ctx, ""); err != nil || counts.Waiting != 10 || len(sizes) != 2 || sizes[1] != 7 {
		t.Errorf("counts are %+v (%v) after calls of %v, want 10 jobs from calls of 10 and 7", counts, err, sizes)
	}
}

func TestABatchThatMakesProgressIsNotGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stub := newStub()
		b := newBenchOn(t, stub)
		stub.enqueue = func(ctx context.Context, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
			results, err := stub.apply(ctx, batch[:1])
			if err != nil || len(batch) == 1 {
				return results, err
			}
			return results, &driver.PartialError{Applied: 1, Err: passing(false)}
		}
		if _, err := braid.NewJob[int, int]("job").EnqueueMany(b.ctx, b.client, numbered(20)); err != nil {
			t.Error(err)
		}
	})
}

func TestABatchTellsHowFarItGot(t *testing.T) {
	lasting := &driver.StoreError{Op: "Enqueue", Err: faultstore.ErrInjected}
	cases := []struct {
		name             string
		jobs             int
		fail             func(call int, stub *stubStore, ctx context.Context, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error)
		applied, unknown int
		calls            int
		isUnknown        bool
	}{
		{"inside a call", 10, func(_ int, stub *stubStore, ctx context.Context, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
			results, _ := stub.apply(ctx, batch[:3])
			return results, &driver.PartialError{Applied: 3, Err: lasting}
		}, 3, 0, 1, false},
		{"between calls", 2500, func(call int, stub *stubStore, ctx context.Context, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
			if call == 3 {
				return nil, lasting
			}
			return stub.apply(ctx, batch)
		}, 2000, 0, 3, false},
		{"with a chunk of unknown outcome", 1500, func(call int, stub *stubStore, ctx context.Context, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
			if call == 1 {
				return stub.apply(ctx, batch)
			}
			results, _ := stub.apply(ctx, batch[:250])
			return results, &driver.PartialError{Applied: 250, Unknown: 250, Err: passing(true)}
		}, 1250, 250, 2, true},
		{"with a call of unknown outcome", 1500, func(call int, stub *stubStore, ctx context.Context, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
			if call == 1 {
				return stub.apply(ctx, batch)
			}
			return nil, passing(true)
		}, 1000, 500, 2, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			stub := newStub()
			b := newBenchOn(t, stub)
			calls := 0
			stub.enqueue = func(ctx context.Context, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
				calls++
				return c.fail(calls, stub, ctx, batch)
			}
			handles, err := braid.NewJob[int, int]("job").EnqueueMany(b.ctx, b.client, numbered(c.jobs))
			var partial *braid.PartialError
			if !errors.As(err, &partial) || partial.Applied != c.applied || partial.Unknown != c.unknown || calls != c.calls {
				t.Fatalf("%#v (%v) after %d calls, want %d applied and %d unknown after %d", partial, err, calls, c.applied, c.unknown, c.calls)
			}
			var store *braid.StoreError
			if !errors.As(err, &store) || store.OutcomeUnknown != c.isUnknown {
				t.Errorf("%v, want the store's error", err)
			}
			for i, handle := range handles {
				if (handle != nil) != (i < c.applied) {
					t.Fatalf("handle %d is %v", i, handle)
				}
			}
		})
	}
}

func TestABatchIsRepeatedOnlyIfItsIDsAreKnown(t *testing.T) {
	faults := faultstore.New(memstore.New())
	b := newBenchOn(t, faults)
	keyed := braid.NewJob[int, int]("keyed").KeyBy(func(n int) string { return fmt.Sprint(n) })
	plain := braid.NewJob[int, int]("plain")

	end := faults.DropReplies(1, "Enqueue")
	if _, err := keyed.EnqueueMany(b.ctx, b.client, numbered(5)); err != nil || faults.Calls("Enqueue") != 2 {
		t.Errorf("with ids: %v after %d calls, want a repeat", err, faults.Calls("Enqueue"))
	}
	end()
	end = faults.DropReplies(1, "Enqueue")
	_, err := plain.EnqueueMany(b.ctx, b.client, numbered(5))
	if !driver.OutcomeUnknown(err) || faults.Calls("Enqueue") != 3 {
		t.Errorf("without ids: %v after %d calls, want an unknown outcome", err, faults.Calls("Enqueue")-2)
	}
	end()
	end = faults.DropReplies(1, "Enqueue")
	_, err = b.client.EnqueueMany(b.ctx, keyed.Request(100), plain.Request(100))
	if !driver.OutcomeUnknown(err) || faults.Calls("Enqueue") != 4 {
		t.Errorf("one of them without id: %v after %d calls, want an unknown outcome", err, faults.Calls("Enqueue")-3)
	}
	end()
	if counts, err := b.client.Counts(b.ctx, ""); err != nil || counts.Waiting != 12 {
		t.Errorf("counts are %+v (%v), want every job once", counts, err)
	}
}

func TestAnEnqueueThatRunsOutOfTimeHasAnUnknownOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stub := newStub()
		b := newBenchOn(t, stub)
		calls := 0
		stub.enqueue = func(ctx context.Context, _ []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
			calls++
			<-ctx.Done()
			return nil, ctx.Err()
		}
		plain := braid.NewJob[int, int]("plain")
		for name, enqueue := range map[string]func(context.Context) error{
			"Enqueue":     func(ctx context.Context) error { _, err := plain.Enqueue(ctx, b.client, 1); return err },
			"EnqueueMany": func(ctx context.Context) error { _, err := plain.EnqueueMany(ctx, b.client, numbered(3)); return err },
		} {
			calls = 0
			start := time.Now()
			err := enqueue(b.ctx)
			if !driver.OutcomeUnknown(err) || calls != 1 || time.Since(start) != callLimit {
				t.Errorf("%s: %v after %d calls and %v, want an unknown outcome after one call's time limit", name, err, calls, time.Since(start))
			}
			calls = 0
			mine, cancel := context.WithTimeout(b.ctx, time.Second)
			if err := enqueue(mine); !errors.Is(err, context.DeadlineExceeded) || calls != 1 {
				t.Errorf("%s: %v after %d calls, want the caller's own deadline", name, err, calls)
			}
			cancel()
		}
		calls = 0
		if _, err := plain.Enqueue(b.ctx, b.client, 1, braid.ID("known")); !driver.OutcomeUnknown(err) || calls < 2 {
			t.Errorf("with an id: %v after %d calls, want repeats", err, calls)
		}
	})
}

func TestABatchThatRunsOutOfTimeKeepsWhatItKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stub := newStub()
		b := newBenchOn(t, stub)
		stub.enqueue = func(ctx context.Context, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
			results, err := stub.apply(ctx, batch[:2])
			if err != nil {
				return nil, err
			}
			<-ctx.Done()
			return results, &driver.PartialError{Applied: 2, Unknown: 3, Err: ctx.Err()}
		}
		_, err := braid.NewJob[int, int]("job").EnqueueMany(b.ctx, b.client, numbered(10))
		var partial *braid.PartialError
		if !errors.As(err, &partial) || partial.Applied != 2 || partial.Unknown != 3 || !driver.OutcomeUnknown(err) {
			t.Errorf("%v, want 2 applied and 3 unknown", err)
		}
	})
}

func TestEveryCallHasATimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := faultstore.New(memstore.New())
		b := newBenchOn(t, faults)
		job := braid.NewJob[string, string]("job")
		handle, err := job.Enqueue(b.ctx, b.client, "x", braid.In(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		defer faults.BlackHole()()
		for name, call := range everyCall(b.ctx, b.client, job, handle) {
			if name == "Wait" || name == "Do" { // they wait for as long as the job takes
				continue
			}
			start := time.Now()
			if err := call(); err == nil || time.Since(start) > callLimit+time.Second {
				t.Errorf("%s: %v after %v", name, err, time.Since(start))
			}
		}
	})
}
