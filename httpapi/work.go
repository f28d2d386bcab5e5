package httpapi

import (
	"encoding/json"
	"time"

	"github.com/braidmq/braid"
)

// ClaimRequest asks for jobs to run.
type ClaimRequest struct {
	Queue  string   `json:"queue,omitempty" doc:"default without it."`
	Names  []string `json:"names" doc:"The jobs that the worker can run; others are never claimed."`
	Worker string   `json:"worker" doc:"Names the worker in jobs and ledgers; unique among the workers of a store."`
	Limit  int      `json:"limit,omitempty" doc:"The most jobs to claim; 1 without it."`
	LockMs int64    `json:"lockMs,omitempty" doc:"How soon another worker gets the jobs unless a heartbeat comes; 30,000 without it."`
	WaitMs int64    `json:"waitMs,omitempty" doc:"How long to wait for a job when there is none."`
}

// Claimed are the jobs to run; none if none came in time.
type Claimed struct {
	Jobs []ClaimedJob `json:"jobs"`
}

// ClaimedJob is a job to run.
type ClaimedJob struct {
	Job
	Token   string `json:"token" doc:"Proves the claim in heartbeats and acks."`
	Attempt int    `json:"attempt" doc:"1 for the first of the job's budget."`
}

// Heartbeat keeps claimed jobs.
type Heartbeat struct {
	Locks  []Lock `json:"locks"`
	LockMs int64  `json:"lockMs,omitempty" doc:"How long to keep them from now; 30,000 without it."`
}

// Lock names a claimed job.
type Lock struct {
	ID    string `json:"id"`
	Token string `json:"token"`
}

// HeartbeatReply tells what the worker must know of its jobs.
type HeartbeatReply struct {
	Lost            []string `json:"lost" doc:"Ids of jobs that are this worker's no more: stop running them."`
	CancelRequested []string `json:"cancelRequested" doc:"Ids of jobs that shall end: stop them, and ack them as cancelled."`
}

// AckRequest ends runs.
type AckRequest struct {
	Acks []Ack `json:"acks"`
}

// Ack is the end of one run.
type Ack struct {
	ID      string          `json:"id"`
	Token   string          `json:"token"`
	Outcome string          `json:"outcome" enum:"completed,failed,cancelled,snoozed,released" doc:"A failed job is retried while it has attempts. Snoozed and released use no attempt: the first rests for delayMs, the second is given back."`
	Result  json.RawMessage `json:"result,omitempty" doc:"Of a completed job: any JSON."`
	Error   *RunError       `json:"error,omitempty" doc:"Of a failed one; its message is required."`
	NoRetry bool            `json:"noRetry,omitempty" doc:"A failed job fails for good."`
	DelayMs *int64          `json:"delayMs,omitempty" doc:"The rest of a snoozed job; of a failed one, in place of its backoff."`
}

// AckReply answers in the order of the acks.
type AckReply struct {
	Results []BatchResult `json:"results"`
}

func workEndpoints() []*endpoint {
	return []*endpoint{
		{method: post, path: "work/claim", role: RoleWork, tag: "work", summary: "Claim jobs to run, and wait for one if there is none",
			body: ClaimRequest{}, reply: Claimed{}, serve: withBody(claim)},
		{method: post, path: "work/heartbeat", role: RoleWork, tag: "work", summary: "Keep claimed jobs, and learn which are lost or shall end",
			body: Heartbeat{}, reply: HeartbeatReply{}, serve: withBody(heartbeat)},
		{method: post, path: "work/ack", role: RoleWork, tag: "work", summary: "Say how runs ended",
			body: AckRequest{}, reply: AckReply{}, serve: withBody(ack)},
	}
}

func claim(c *call, body *ClaimRequest) (any, error) {
	wait, err := millis("waitMs", body.WaitMs, 0)
	if err != nil {
		return nil, err
	}
	if wait > c.h.limits.Wait {
		return nil, invalid("waitMs", "cannot be %d; use at most %d, and ask again", body.WaitMs, c.h.limits.Wait.Milliseconds())
	}
	lock, err := lockMillis(body.LockMs)
	if err != nil {
		return nil, err
	}
	ctx, cancel := c.untilDrained()
	defer cancel()
	leased, err := c.client.Lease(ctx, braid.LeaseRequest{
		Queue: body.Queue, Names: body.Names, Worker: body.Worker, Limit: body.Limit, LockDuration: lock, Wait: wait,
	})
	if err != nil && (ctx.Err() == nil || c.ctx.Err() != nil) {
		return nil, err
	}
	reply := Claimed{Jobs: make([]ClaimedJob, len(leased))}
	for i, job := range leased {
		reply.Jobs[i] = ClaimedJob{Job: *c.h.job(job.JobInfo), Token: job.Token, Attempt: job.Attempt}
		reply.Jobs[i].Payload, reply.Jobs[i].Redacted = shown(job.Payload), false
	}
	return reply, nil
}

// lockMillis reads how long a lock shall hold; 0 is the default.
func lockMillis(ms int64) (time.Duration, error) {
	if ms != 0 && (ms < shortestLockMs || ms > longestLockMs) {
		return 0, invalid("lockMs", "cannot be %d; use %d to %d milliseconds, or leave it out for 30000", ms, shortestLockMs, longestLockMs)
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// What the client takes as the duration of a lock.
const (
	shortestLockMs = 100
	longestLockMs  = 24 * int64(time.Hour/time.Millisecond)
)

func heartbeat(c *call, body *Heartbeat) (any, error) {
	if len(body.Locks) == 0 || len(body.Locks) > c.h.limits.Batch {
		return nil, invalid("locks", "has %d items; use 1 to %d", len(body.Locks), c.h.limits.Batch)
	}
	lock, err := lockMillis(body.LockMs)
	if err != nil {
		return nil, err
	}
	locks := make([]braid.Lock, len(body.Locks))
	for i, l := range body.Locks {
		locks[i] = braid.Lock{ID: l.ID, Token: l.Token}
	}
	state, err := c.client.ExtendLeases(c.ctx, locks, lock)
	if err != nil {
		return nil, err
	}
	return HeartbeatReply{Lost: notNil(state.Lost), CancelRequested: notNil(state.CancelRequested)}, nil
}

func ack(c *call, body *AckRequest) (any, error) {
	if len(body.Acks) == 0 || len(body.Acks) > c.h.limits.Batch {
		return nil, invalid("acks", "has %d items; use 1 to %d", len(body.Acks), c.h.limits.Batch)
	}
	batch := make([]braid.Settlement, len(body.Acks))
	for i, a := range body.Acks {
		s, err := a.settlement()
		if err != nil {
			return nil, within(item("acks", i), err)
		}
		batch[i] = s
	}
	results, err := c.client.SettleLeases(c.ctx, batch...)
	if err != nil {
		return nil, err
	}
	reply := AckReply{Results: make([]BatchResult, len(results))}
	for i, result := range results {
		reply.Results[i].ID = body.Acks[i].ID
		if result.Err != nil {
			reply.Results[i].Error = errorOf(named(result.Err, item("acks", i), ackFields))
		} else {
			reply.Results[i].State = result.State.String()
		}
	}
	return reply, nil
}

func (a *Ack) settlement() (braid.Settlement, error) {
	s := braid.Settlement{ID: a.ID, Token: a.Token, Kind: braid.SettleKind(a.Outcome), Result: a.Result, NoRetry: a.NoRetry}
	if a.Error != nil {
		s.Message, s.Type, s.Stack = a.Error.Message, a.Error.Type, a.Error.Stack
	}
	if a.DelayMs != nil {
		delay, err := millis("delayMs", *a.DelayMs, 0)
		if err != nil {
			return s, err
		}
		s.Delay = new(time.Duration)
		*s.Delay = delay
	}
	return s, nil
}

// notNil makes an absent list an empty one, which is what JSON shall show.
func notNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
