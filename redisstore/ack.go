package redisstore

import (
	"context"
	"strconv"

	"github.com/braidmq/braid/driver"
)

var (
	ackScript       = loadScript("ack")
	heartbeatScript = loadScript("heartbeat")
	recoverScript   = loadScript("recover")
	auditScript     = loadScript("audit")
)

// What scripts answer instead of a state.
const (
	answerNotFound = -1
	answerLockLost = -2
	// answerStaged − n: n children are staged.
	answerStaged = -3
	// answerState − s: the job is in the state s, which does not allow the operation.
	answerState = -10
)

// Ack implements [driver.Consumer].
func (s *Store) Ack(ctx context.Context, now driver.Time, batch []driver.Ack) ([]driver.AckResult, error) {
	results := make([]driver.AckResult, 0, len(batch))
	if len(batch) == 0 {
		return results, s.usable(ctx)
	}
	for from := 0; from < len(batch); {
		c, to := ackCall(now, batch, from)
		states, err := s.runStates(ctx, "Ack", c, to-from)
		if err != nil {
			return results, partial(from, unknownItems(err, to-from), err)
		}
		for i, state := range states {
			results = append(results, ackResult(&batch[from+i], state))
		}
		from = to
	}
	return results, nil
}

// ackCall composes a call for a chunk of a batch, and returns where the chunk ends.
func ackCall(now driver.Time, batch []driver.Ack, from int) (c call, to int) {
	texts := make([]string, 0, 4*min(len(batch)-from, driver.ChunkJobs))
	size := 0
	for to = from; to < len(batch) && to-from < driver.ChunkJobs; to++ {
		a := &batch[to]
		if size += len(a.ID) + len(a.Token) + len(a.Exit); size > driver.ChunkBytes && to > from {
			break
		}
		texts = append(texts, a.ID, a.Token, ackOrder(now, a), string(a.Exit))
	}
	return call{script: ackScript, now: packTime(now), args: []any{to - from}, texts: texts}, to
}

// ackOrder returns the kind of an ack, with what belongs to it.
func ackOrder(now driver.Time, a *driver.Ack) string {
	if a.Kind < driver.AckComplete || a.Kind > driver.AckFanOut {
		return "0"
	}
	kind := strconv.Itoa(int(a.Kind))
	switch a.Kind {
	case driver.AckRetry, driver.AckSnooze:
		state := driver.Waiting
		if a.Delay > 0 {
			state = driver.Delayed
		}
		return kind + strconv.Itoa(int(state)) + packTime(now.Add(a.Delay))
	case driver.AckFanOut:
		failFast := "0"
		if a.FailFast {
			failFast = "1"
		}
		return kind + failFast + strconv.FormatInt(a.Children, 10)
	}
	return kind
}

func ackResult(a *driver.Ack, answer int64) driver.AckResult {
	switch {
	case answer > 0:
		return driver.AckResult{State: driver.State(answer)}
	case answer == answerNotFound:
		return driver.AckResult{Err: driver.ErrNotFound}
	case answer == answerLockLost:
		return driver.AckResult{Err: driver.ErrLockLost}
	case answer == 0:
		return driver.AckResult{Err: &driver.InvalidError{Field: "kind", Value: strconv.Itoa(int(a.Kind)),
			Reason: "is no kind of ack; use one of the constants"}}
	}
	return driver.AckResult{Err: &driver.InvalidError{Field: "children", Value: strconv.FormatInt(a.Children, 10),
		Reason: "is not the number of children staged by this run, " + strconv.FormatInt(answerStaged-answer, 10)}}
}

// runStates runs a script that answers each of n items with a number.
func (s *Store) runStates(ctx context.Context, op string, c call, n int) ([]int64, error) {
	reply, err := s.run(ctx, op, c)
	if err != nil {
		return nil, err
	}
	list, ok := reply.([]any)
	if !ok || len(list) != n {
		return nil, storeError(op, errCorrupt)
	}
	answers := make([]int64, n)
	for i, item := range list {
		if answers[i], ok = item.(int64); !ok {
			return nil, storeError(op, errCorrupt)
		}
	}
	return answers, nil
}

// unknownItems returns how many of n items have an unknown outcome after err.
func unknownItems(err error, n int) int {
	if driver.OutcomeUnknown(err) {
		return n
	}
	return 0
}

// Heartbeat implements [driver.Consumer].
func (s *Store) Heartbeat(ctx context.Context, now driver.Time, locks []driver.Lock, duration driver.Millis) (driver.HeartbeatResult, error) {
	var result driver.HeartbeatResult
	expires := packTime(now.Add(duration))
	for from := 0; from < len(locks); from += driver.ChunkJobs {
		chunk := locks[from:min(from+driver.ChunkJobs, len(locks))]
		args := make([]any, 0, 1+2*len(chunk))
		args = append(args, expires)
		for _, lock := range chunk {
			args = append(args, lock.ID, lock.Token)
		}
		answers, err := s.runStates(ctx, "Heartbeat", call{script: heartbeatScript, args: args}, len(chunk))
		if err != nil {
			return result, partial(from, unknownItems(err, len(chunk)), err)
		}
		for i, answer := range answers {
			switch answer {
			case 1:
				result.CancelRequested = append(result.CancelRequested, chunk[i].ID)
			case 2:
				result.Lost = append(result.Lost, chunk[i].ID)
			}
		}
	}
	return result, s.usable(ctx)
}

// auditPage is how many keys of the database the audit looks at per stall recovery: few,
// for the sake of what else the server has to do. With 20 workers, whose sweeps make 40
// recoveries a minute, 100,000 jobs are held against their orders in about four hours.
const auditPage = 10

// RecoverStalled implements [driver.Consumer]. Each call that leaves nothing more to
// recover also holds a page of all records against the orders they belong into, so
// that a job whose entries were lost is found again.
func (s *Store) RecoverStalled(ctx context.Context, now driver.Time, req driver.RecoverRequest) (driver.RecoverResult, error) {
	var result driver.RecoverResult
	for left := req.Limit; left > 0; {
		limit := min(left, driver.ChunkJobs)
		reply, err := s.run(ctx, "RecoverStalled", call{script: recoverScript, now: packTime(now),
			args: []any{int(req.MaxStalled), limit}})
		if err != nil {
			return result, err
		}
		strings, err := texts("RecoverStalled", reply)
		if err != nil || len(strings) < 2 {
			return result, storeError("RecoverStalled", errCorrupt)
		}
		for i := 2; i+1 < len(strings); i += 2 {
			result.Jobs = append(result.Jobs, driver.Recovered{ID: strings[i], Failed: strings[i+1] == "1"})
		}
		result.More = strings[0] == "1"
		if !result.More {
			_, err := s.run(ctx, "RecoverStalled", call{script: auditScript, args: []any{auditPage}})
			return result, err
		}
		taken, _ := strconv.Atoi(strings[1])
		left -= taken
	}
	return result, nil
}
