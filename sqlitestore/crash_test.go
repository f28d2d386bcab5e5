package sqlitestore_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/drivertest"
	"github.com/braidmq/braid/sqlitestore"
)

// crashVariable tells a process of this program which file it is to work on.
const crashVariable = "BRAID_SQLITE_CRASH"

// workUntilKilled enqueues and finishes jobs, and prints what was answered, until
// the process is killed.
func workUntilKilled(path string) {
	s, err := sqlitestore.Open(path)
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	ctx := context.Background()
	pid := os.Getpid()
	for g := range 4 {
		go func() {
			for n := 0; ; n++ {
				id := fmt.Sprintf("%d-%d-%d", pid, g, n)
				keep := &driver.Keep{Cancelled: driver.Retention{Count: driver.Some(int64(5))}}
				_, err := s.Enqueue(ctx, 1, []driver.EnqueueRequest{
					{ID: id, Spec: driver.Spec{Name: "work", Queue: "q", Payload: []byte(strings.Repeat("1", 10+n%3000)), AttemptsMax: 1, Keep: keep}}})
				if err != nil {
					fmt.Println("error", err)
					os.Exit(1)
				}
				fmt.Println("enqueued", id)
			}
		}()
	}
	for n := 0; ; n++ {
		token := fmt.Sprintf("%d-%d", pid, n)
		result, err := s.Claim(ctx, 1, driver.ClaimRequest{Queue: "q", Names: []string{"work"}, Worker: "w", Token: token, Limit: 20, LockDuration: 1000})
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		acks := make([]driver.Ack, len(result.Jobs))
		for i, job := range result.Jobs {
			acks[i] = driver.Ack{ID: job.ID, Token: token, Kind: driver.AckComplete, Exit: []byte(`"done"`)}
		}
		if _, err := s.Ack(ctx, 2, acks); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		for _, ack := range acks {
			fmt.Println("finished", ack.ID)
		}
	}
}

func TestNothingIsLostWhenAProcessIsKilledWhileItWrites(t *testing.T) {
	rounds := 50 * soak(t)
	path := filepath.Join(t.TempDir(), "jobs.db")
	states := map[string]driver.State{} // what was answered
	for round := range rounds {
		answered := killedAfter(t, path, 20+round*7%40)
		for id, state := range answered {
			states[id] = max(states[id], state)
		}
		checkFile(t, path)
		s := open(t, path, drivertest.StoreOptions{})
		var ids []string
		for id := range states {
			ids = append(ids, id)
		}
		jobs, err := s.Jobs(t.Context(), ids)
		if err != nil {
			t.Fatal(err)
		}
		for i, job := range jobs {
			switch {
			case job == nil:
				t.Fatalf("round %d: the job %s was enqueued, and is gone", round, ids[i])
			case states[ids[i]] == driver.Completed && (job.State != driver.Completed || string(job.Exit) != `"done"`):
				t.Fatalf("round %d: the job %s was finished, and is %v with the exit %s", round, ids[i], job.State, job.Exit)
			}
		}
		if err := s.(*sqlitestore.Store).CheckInvariants(); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// killedAfter starts a process that works on the file, kills it when it has printed
// so many lines, and returns what it has printed.
func killedAfter(t *testing.T, path string, lines int) map[string]driver.State {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), crashVariable+"="+path)
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answered := map[string]driver.State{}
	reader := bufio.NewReader(output)
	for n := 1; ; n++ {
		line, err := reader.ReadString('\n')
		if err == io.EOF {
			break // a line that was cut off does not count
		}
		if err != nil {
			t.Fatal(err)
		}
		word, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "enqueued":
			answered[id] = max(answered[id], driver.Waiting)
		case "finished":
			answered[id] = driver.Completed
		default:
			t.Fatalf("the process says %q", line)
		}
		if n == lines {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || ctx.Err() != nil {
		t.Fatalf("the process was not killed: %v, %v", err, ctx.Err())
	}
	if len(answered) < lines/2 {
		t.Fatalf("the process answered for %d jobs only", len(answered))
	}
	return answered
}

// checkFile lets SQLite check the file.
func checkFile(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var verdict string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Fatalf("integrity_check: %s, %v", verdict, err)
	}
}

// soak is how many times as long tests of chance run.
func soak(t *testing.T) int {
	t.Helper()
	if os.Getenv("BRAID_SOAK") != "" {
		return 5
	}
	return 1
}
