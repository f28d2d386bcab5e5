package redisstore_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/internal/testserver"
	"github.com/braidmq/braid/redisstore"
)

// workerVariable makes the test's program a worker on the store of that URL.
const workerVariable = "BRAID_FAULT_WORKER"

// workerLock is the lock duration of the worker that is killed.
const workerLock = 2 * time.Second

func init() {
	if url := os.Getenv(workerVariable); url != "" {
		if err := workUntilKilled(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
}

// workUntilKilled runs jobs that take long, and prints the number of each that starts.
func workUntilKilled(url string) error {
	ctx := context.Background()
	store, err := redisstore.Open(ctx, url, redisstore.WithLogger(quiet))
	if err != nil {
		return err
	}
	worker := braid.NewWorker(braid.NewClient(store, braid.WithLogger(quiet)), braid.WorkerOptions{Concurrency: 20, LockDuration: workerLock})
	faultJob.Handle(worker, func(_ context.Context, n int) (braid.None, error) {
		fmt.Println(n)
		time.Sleep(5 * time.Millisecond) // the job's work
		return braid.None{}, nil
	})
	return worker.Run(ctx)
}

func TestJobsOfAKilledWorkerRunAgainAfterTheirLocks(t *testing.T) {
	server := testserver.Redis(t)
	p := newPlant(t, server, server.URL(), workerLock)
	p.fill(faultJobs)

	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	process := exec.Command(program)
	process.Env = append(os.Environ(), workerVariable+"="+server.URL())
	process.Stderr = os.Stderr
	output, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	for seen := 0; lines.Scan(); seen++ {
		n, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatalf("the worker printed %q", lines.Text())
		}
		p.started(n)
		if seen == faultJobs/3 { // in mid-run; what was printed before the end is still read
			if err := process.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = process.Wait() // it was killed
	killed := time.Now()
	counts, err := p.client.Counts(t.Context(), faultQueue)
	if err != nil || counts.Active == 0 || counts.Completed == 0 || counts.Waiting == 0 {
		t.Fatalf("the killed worker left %+v, %v; want jobs in each state", counts, err)
	}
	p.recoverStalled()
	p.work(20, time.Millisecond)
	p.finish(faultJobs)
	p.mu.Lock()
	defer p.mu.Unlock()
	again := 0
	for _, starts := range p.starts {
		if len(starts) > 1 {
			again++
		}
	}
	if again == 0 || again > int(counts.Active) {
		t.Errorf("%d jobs ran again, %d were active", again, counts.Active)
	}
	if took := time.Since(killed); took > workerLock+5*time.Second {
		t.Errorf("all was done %v after the kill", took)
	}
}
