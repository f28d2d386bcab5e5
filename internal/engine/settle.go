package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/braidmq/braid/driver"
)

// settle decides what becomes of a run whose handler has returned, and hands the
// ack on.
func (e *Engine) settle(r *run, exit []byte, err error) {
	inTime := r.finish()
	if r.abandoned { // the engine has stopped; the lock lapses
		return
	}
	e.decideSafely(r, exit, err, inTime)
	r.ack.ID, r.ack.Token = r.Job.ID, r.Token
	r.queue.unacked.Add(1)
	e.acker.add(r)
}

// settleUnstarted does the same for a run that was not started.
func (e *Engine) settleUnstarted(r *run) {
	r.mu.Lock()
	r.state = runFinished
	lost, cancelled := r.lost, r.cancelRequested
	r.mu.Unlock()
	switch {
	case lost:
		r.ack.Kind = 0
	case cancelled:
		r.ack.Kind = driver.AckCancelled
	default:
		r.ack.Kind = driver.AckRelease
	}
	r.ack.ID, r.ack.Token = r.Job.ID, r.Token
	r.queue.unacked.Add(1)
	e.acker.add(r)
}

// decideSafely decides, also about an error whose methods panic.
func (e *Engine) decideSafely(r *run, exit []byte, err error, inTime bool) {
	defer func() {
		if v := recover(); v != nil {
			text := fmt.Sprintf("a method of the handler's error (%T) panicked: %v", err, v)
			r.ack = driver.Ack{Kind: driver.AckFail, Exit: NewErrorExit(errors.New(text)).Encode()}
			if r.Job.AttemptsMade+1 < r.Job.AttemptsMax {
				r.ack.Kind, r.ack.Delay = driver.AckRetry, RetryDelay(e.backoffOf(r), r.Attempt)
			}
		}
	}()
	e.decide(r, exit, err, inTime)
}

// decide fills in the run's ack. The order of the cases is the order in which one
// reason wins over another.
func (e *Engine) decide(r *run, exit []byte, err error, inTime bool) {
	if r.lost {
		return
	}
	if err == nil && inTime {
		r.ack.Kind, r.ack.Exit = driver.AckComplete, exit
		return
	}
	var fanOut *FanOutDone
	if err != nil && inTime && errors.As(err, &fanOut) {
		r.ack.Kind, r.ack.FailFast, r.ack.Children = driver.AckFanOut, fanOut.FailFast, fanOut.Children
		r.landed = fanOut.Landed
		return
	}
	if err != nil && r.cancelRequested {
		r.ack.Kind = driver.AckCancelled
		return
	}
	var snooze *snoozeError
	if err != nil && inTime && errors.As(err, &snooze) {
		r.ack.Kind, r.ack.Delay = driver.AckSnooze, min(max(driver.MillisOf(snooze.after), 0), maxDelay)
		return
	}
	if err != nil && r.shutdown && (inTime || r.causeAt.Before(r.deadline)) {
		r.ack.Kind = driver.AckRelease
		return
	}
	if !inTime {
		err = &TimeoutError{After: r.timeout, Err: err}
	}
	e.fail(r, err)
}

// fail makes the ack of a failed attempt, and tells the hook.
func (e *Engine) fail(r *run, err error) {
	f := e.failure(r, err)
	if f.WillRetry {
		r.Logger().Info("braid: the run failed and will be retried", "error", logText(err), "in", f.RetryIn)
	} else {
		r.Logger().Warn("braid: the job failed", "error", logText(err))
	}
	if e.config.OnFailure != nil {
		e.callHook(r, f)
	}
}

// failure makes the ack of a failed attempt.
func (e *Engine) failure(r *run, err error) Failure {
	f := Failure{
		Job: r.Job, Attempt: r.Attempt, Err: err, Exit: NewErrorExit(err).Encode(),
		Worker: r.Worker, Store: r.Store,
	}
	r.ack = driver.Ack{ID: r.Job.ID, Token: r.Token, Kind: driver.AckFail, Exit: f.Exit}
	if f.WillRetry = e.mayRetry(r, err); f.WillRetry {
		r.ack.Kind, r.ack.Delay = driver.AckRetry, RetryDelay(e.backoffOf(r), r.Attempt)
		f.RetryIn = r.ack.Delay.Std()
	}
	return f
}

func (e *Engine) callHook(r *run, f Failure) {
	e.guard("the failure hook", func() { e.config.OnFailure(WithRun(e.config.BaseContext, &r.Run), f) })
}

// refusal replaces an ack that the store will never take by that of a failed
// attempt. Only a fan-out may be tried again: whatever else was to be stored, its
// side effects have happened.
func (e *Engine) refusal(r *run, cause error) Failure {
	if r.ack.Kind != driver.AckFanOut {
		cause = &EncodeError{Err: cause}
	}
	r.landed = nil
	return e.failure(r, cause)
}

// mayRetry reports whether a failed attempt is followed by another.
func (e *Engine) mayRetry(r *run, err error) bool {
	if r.Job.AttemptsMade+1 >= r.Job.AttemptsMax {
		return false
	}
	var unrecoverable *unrecoverableError
	var unencodable *EncodeError
	if errors.As(err, &unrecoverable) || errors.As(err, &unencodable) {
		return false
	}
	retryable := true
	if predicate := r.handler.Retryable; predicate != nil {
		e.guard("a job's retry predicate", func() { retryable = predicate(err) })
	}
	return retryable
}

func (e *Engine) backoffOf(r *run) driver.Backoff {
	switch {
	case r.Job.Backoff != nil:
		return *r.Job.Backoff
	case r.handler.Backoff != nil:
		return *r.handler.Backoff
	}
	return *e.config.Backoff
}

// timeoutOf returns how long a job's run may take; 0: as long as it likes.
func (e *Engine) timeoutOf(job *driver.Job, h *Handler) time.Duration {
	if t, set := job.Timeout.Get(); set {
		return t.Std()
	}
	if t, set := h.Timeout.Get(); set {
		return t.Std()
	}
	return e.config.Timeout
}

// land calls what waits for a fan-out to be stored.
func (e *Engine) land(r *run) {
	landed, state := r.landed, r.result
	if landed == nil || state == 0 && !r.maybeApplied {
		return
	}
	e.aftermath.Go(func() {
		e.guard("what follows a fan-out", func() { landed(e.afterContext, state) })
	})
}
