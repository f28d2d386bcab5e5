package braid

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/engine"
)

// SettleKind is how the run of a leased job ended.
type SettleKind string

// The ways to settle a leased job.
const (
	SettleCompleted SettleKind = "completed"
	// SettleFailed: the attempt failed. The job is retried while it has attempts, unless
	// NoRetry says otherwise.
	SettleFailed SettleKind = "failed"
	// SettleCancelled: the run ended because the job's cancel was requested.
	SettleCancelled SettleKind = "cancelled"
	SettleSnoozed   SettleKind = "snoozed"  // put off by Delay, without using an attempt
	SettleReleased  SettleKind = "released" // given back, without using an attempt
)

// Settlement is the end of the run of a leased job.
type Settlement struct {
	ID    string
	Token string
	Kind  SettleKind
	// Result is the JSON of a completed job's result; empty: none.
	Result json.RawMessage
	// Message, Type and Stack tell what a failed attempt failed with; the first is
	// required.
	Message string
	Type    string
	Stack   string
	// NoRetry fails the job for good, whatever attempts it has left.
	NoRetry bool
	// Delay is how long a snoozed job rests, and, if it is set, a failed one before its
	// next attempt; nil: as the job's backoff says.
	Delay *time.Duration
}

// SettleResult answers one settlement.
type SettleResult struct {
	// Err is nil, or matches ErrNotFound, ErrLockLost or ErrInvalid. Then nothing was
	// changed.
	Err error
	// State is the state that the job is in now, if Err is nil.
	State State
}

// SettleLeases ends runs of leased jobs, and answers in their order, each on its own.
// A lease that has run out is still good while nobody else got the job. After an error
// of the whole call, it can be repeated: what was settled already answers ErrLockLost.
func (c *Client) SettleLeases(ctx context.Context, batch ...Settlement) ([]SettleResult, error) {
	ctx, cancel, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	if len(batch) == 0 {
		return nil, nil
	}
	ids := make([]string, len(batch))
	for i, s := range batch {
		ids[i] = s.ID
	}
	records, err := c.records(ctx, ids)
	if err != nil {
		return nil, within(err, "settle leases")
	}
	results := make([]SettleResult, len(batch))
	acks, position := make([]driver.Ack, 0, len(batch)), make([]int, 0, len(batch))
	for i, s := range batch {
		if records[i] == nil {
			results[i].Err = fmt.Errorf("%w: job %q", ErrNotFound, s.ID)
			continue
		}
		if !canBeToken(s.Token) {
			results[i].Err = ErrLockLost
			continue
		}
		ack, err := c.settlementAck(s, records[i])
		if err != nil {
			results[i].Err = err
			continue
		}
		acks, position = append(acks, ack), append(position, i)
	}
	if len(acks) == 0 {
		return results, nil
	}
	now := c.now()
	answers, err := c.store.driver.Ack(ctx, now, acks)
	if err != nil {
		return nil, within(err, "settle leases")
	}
	for n, answer := range answers {
		results[position[n]] = SettleResult{Err: answer.Err, State: answer.State}
	}
	c.settled(now, acks, position, records, results)
	return results, nil
}

// settlementAck decides what becomes of the job.
func (c *Client) settlementAck(s Settlement, job *driver.Job) (driver.Ack, error) {
	ack := driver.Ack{ID: s.ID, Token: s.Token}
	switch s.Kind {
	case SettleCompleted:
		exit, err := encodeRaw(s.Result)
		if err != nil {
			return ack, &driver.InvalidError{Field: "result", Reason: "cannot be stored: " + err.Error()}
		}
		if limit := c.shared.maxPayload; len(exit) > limit {
			return ack, &driver.InvalidError{Field: "result",
				Reason: "is " + strconv.Itoa(len(exit)) + " bytes long; the limit is " + strconv.Itoa(limit)}
		}
		ack.Kind, ack.Exit = driver.AckComplete, exit
	case SettleFailed:
		if strings.TrimSpace(s.Message) == "" {
			return ack, &driver.InvalidError{Field: "message", Value: s.Message, Reason: "is empty; say what the run failed with"}
		}
		ack.Kind, ack.Exit = driver.AckFail, engine.ErrorExit{Message: s.Message, Type: s.Type, Stack: s.Stack}.Clean().Encode()
		switch {
		case job.CancelRequested:
			ack.Kind, ack.Exit = driver.AckCancelled, nil
		case !s.NoRetry && job.AttemptsMade+1 < job.AttemptsMax:
			ack.Kind, ack.Delay = driver.AckRetry, backoffDelay(job)
		}
	case SettleCancelled:
		ack.Kind = driver.AckCancelled
	case SettleSnoozed:
		if s.Delay == nil {
			return ack, &driver.InvalidError{Field: "delay", Reason: "is missing; say how long the job rests"}
		}
		ack.Kind = driver.AckSnooze
	case SettleReleased:
		ack.Kind = driver.AckRelease
	default:
		return ack, &driver.InvalidError{Field: "outcome", Value: string(s.Kind),
			Reason: "use completed, failed, cancelled, snoozed or released"}
	}
	if s.Delay != nil && (ack.Kind == driver.AckRetry || ack.Kind == driver.AckSnooze) {
		if *s.Delay < 0 {
			return ack, &driver.InvalidError{Field: "delay", Value: s.Delay.String(), Reason: "use 0 or a positive duration"}
		}
		ack.Delay = driver.MillisOf(*s.Delay)
	}
	return ack, nil
}

// settled records what was settled, and sends the news of flows' children on.
func (c *Client) settled(now driver.Time, acks []driver.Ack, position []int, records []*driver.Job, results []SettleResult) {
	var ends []engine.RunEnd
	lost, childEnded := 0, false
	locks := make([]driver.Lock, len(acks))
	for n, ack := range acks {
		locks[n] = driver.Lock{ID: ack.ID, Token: ack.Token}
		job, result := records[position[n]], results[position[n]]
		if result.Err != nil {
			lost++
			continue
		}
		childEnded = childEnded || job.Parent != nil && result.State.Terminal()
		started := job.ProcessedAt.Or(now)
		ends = append(ends, engine.RunEnd{
			Job: job, Outcome: engine.OutcomeOf(ack.Kind, result.State), State: result.State,
			Wait: max(0, started.Sub(job.RunAt).Std()), Run: max(0, now.Sub(started).Std()),
		})
	}
	c.shared.leasing.ended(c, locks)
	if o := c.shared.metrics.observer(c.store.name); o != nil {
		o.RunsEnded(ends)
		if lost > 0 {
			o.LocksLost(lost)
		}
	}
	if childEnded {
		c.shared.pulse(c.store.name)
	}
}
