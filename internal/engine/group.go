package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/plural"
)

// Group puts concurrent calls together: what arrives while a call is under way
// goes in the next one, all at once. There is no timer and no added wait, and a
// lone caller makes its call itself. In a crowd two calls are under way, so that one is
// prepared while the store works on the other. It is safe for concurrent use.
type Group[Req, Res any] struct {
	do       func(ctx context.Context, batch []Req) ([]Res, error)
	apart    func(ctx context.Context, batch []Req) ([]Res, error)
	maxBatch int

	mu      sync.Mutex
	flights int // calls under way, or about to be
	pending []*groupCall[Req, Res]
}

const (
	maxFlights = 2
	crowded    = 8 // callers that wait while a call is under way, for another to begin
)

// groupCall is one caller's request.
type groupCall[Req, Res any] struct {
	ctx    context.Context
	req    Req
	flight *flight[Req, Res] // nil while pending
	apart  bool              // it is to be sent alone
	done   chan struct{}     // closed when res and err are final
	res    Res
	err    error
}

// flight is one call of do.
type flight[Req, Res any] struct {
	calls  []*groupCall[Req, Res]
	left   int // callers that went away
	cancel context.CancelFunc
}

// NewGroup returns a group that calls do with up to maxBatch requests. do answers
// position by position, obeys its context, which ends when all callers of the
// batch have left, and whose values are those of the batch's first caller. A
// [*driver.PartialError] gives each caller its own fate; another error that
// neither a repetition nor time can mend makes the group send item by item, so
// that callers do not fail for each other; [driver.ErrContended] makes it send them
// with calls of apart, one request each and all at once, so that callers do not wait
// for each other. apart may wait for as long as its context lets it.
func NewGroup[Req, Res any](do, apart func(ctx context.Context, batch []Req) ([]Res, error), maxBatch int) *Group[Req, Res] {
	return &Group[Req, Res]{do: do, apart: apart, maxBatch: max(maxBatch, 1)}
}

// Do sends req with the next batch and returns its result. When ctx ends before
// the request was sent, it is not sent and Do returns the context's error; later,
// Do returns a [*driver.StoreError] that wraps it and says that the outcome is
// unknown.
func (g *Group[Req, Res]) Do(ctx context.Context, req Req) (Res, error) {
	if err := ctx.Err(); err != nil {
		var none Res
		return none, err
	}
	c := &groupCall[Req, Res]{ctx: ctx, req: req}
	g.mu.Lock()
	if g.flights == 0 {
		g.flights++
		g.mu.Unlock()
		return g.alone(c)
	}
	c.done = make(chan struct{})
	g.pending = append(g.pending, c)
	if g.flights < maxFlights && len(g.pending) >= crowded {
		g.flights++
		go g.drain()
	}
	g.mu.Unlock()

	select {
	case <-c.done:
		return c.res, c.err
	case <-ctx.Done():
		return g.leave(c)
	}
}

// alone makes c's call in the caller's goroutine, then leaves what came meanwhile
// to a goroutine that ends when nobody waits any more.
func (g *Group[Req, Res]) alone(c *groupCall[Req, Res]) (Res, error) {
	calls := []*groupCall[Req, Res]{c}
	func() {
		defer g.land()
		g.send(c.ctx, g.do, calls)
	}()
	if c.apart {
		g.send(c.ctx, g.apart, calls)
	}
	return c.res, c.err
}

// land ends the flight of a lone caller.
func (g *Group[Req, Res]) land() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.pending) == 0 {
		g.flights--
		return
	}
	go g.drain()
}

func (g *Group[Req, Res]) drain() {
	ended := false
	defer func() {
		if !ended { // do ended this goroutine
			go g.drain()
		}
	}()
	for {
		f, ctx := g.takeOff()
		if f == nil {
			ended = true
			return
		}
		g.fly(ctx, f)
		runtime.Gosched() // to callers that have landed and come back with their next call
	}
}

// takeOff makes a flight of what is pending; nil, and no longer busy, if nothing is.
func (g *Group[Req, Res]) takeOff() (*flight[Req, Res], context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.pending), g.maxBatch)
	if n == 0 {
		g.flights--
		return nil, nil
	}
	f := &flight[Req, Res]{calls: slices.Clone(g.pending[:n])}
	g.pending = slices.Delete(g.pending, 0, n)
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.calls[0].ctx))
	f.cancel = cancel
	for _, c := range f.calls {
		c.flight = f
	}
	return f, ctx
}

func (g *Group[Req, Res]) fly(ctx context.Context, f *flight[Req, Res]) {
	defer f.cancel()
	defer func() {
		for _, c := range f.calls {
			if c.apart {
				go g.flyAlone(c)
			} else {
				close(c.done)
			}
		}
	}()
	g.send(ctx, g.do, f.calls)
}

// flyAlone sends one call that its batch could not take along. It ends with the
// caller's context at the latest.
func (g *Group[Req, Res]) flyAlone(c *groupCall[Req, Res]) {
	defer close(c.done)
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	calls := []*groupCall[Req, Res]{c}
	g.mu.Lock()
	c.flight = &flight[Req, Res]{calls: calls, cancel: cancel}
	g.mu.Unlock()
	g.send(ctx, g.apart, calls)
}

// leave ends the wait of a caller whose context has ended.
func (g *Group[Req, Res]) leave(c *groupCall[Req, Res]) (Res, error) {
	g.mu.Lock()
	if c.flight == nil {
		i := slices.Index(g.pending, c)
		g.pending = slices.Delete(g.pending, i, i+1)
		g.mu.Unlock()
		return c.res, c.ctx.Err()
	}
	c.flight.left++
	last := c.flight.left == len(c.flight.calls)
	if last {
		c.flight.cancel()
	}
	g.mu.Unlock()
	if last { // the call must not outlive its callers
		<-c.done
		return c.res, c.err
	}
	var none Res
	return none, unknownOutcome(c.ctx.Err())
}

// send makes a call, of do or apart, and gives each caller its result.
func (g *Group[Req, Res]) send(ctx context.Context, do func(context.Context, []Req) ([]Res, error), calls []*groupCall[Req, Res]) {
	batch := make([]Req, len(calls))
	for i, c := range calls {
		batch[i] = c.req
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		value := recover()
		err := unknownOutcome(&PanicError{Value: value, Exit: value == nil, Stack: debug.Stack()})
		for _, c := range calls {
			c.err = err
		}
	}()
	results, err := do(ctx, batch)
	if err == nil && len(results) != len(calls) {
		err = unknownOutcome(fmt.Errorf("%s came for %s", plural.Of(len(results), "result", "results"), plural.Of(len(calls), "request", "requests")))
	}
	rest := calls
	var partial *driver.PartialError
	switch {
	case err == nil:
		for i, c := range calls {
			c.res = results[i]
		}
		rest = nil
	case errors.As(err, &partial):
		reached := min(partial.Applied+partial.Unknown, len(calls))
		for i, c := range calls[:reached] {
			if i < partial.Applied && i < len(results) {
				c.res = results[i]
			} else {
				c.err = unknownOutcome(partial.Err)
			}
		}
		rest, err = calls[reached:], notSent(partial.Err)
	}
	contended := errors.Is(err, driver.ErrContended)
	oneByOne := len(calls) > 1 && ctx.Err() == nil && final(err)
	for i, c := range rest {
		switch {
		case contended && !c.apart:
			c.apart = true
		case oneByOne:
			g.send(ctx, do, rest[i:i+1])
		default:
			c.err = err
		}
	}
	returned = true
}

// final reports whether a call was refused: not applied, and in vain if repeated.
func final(err error) bool {
	return err != nil && !driver.Retryable(err) && !driver.OutcomeUnknown(err) && !isContextError(err) &&
		!errors.Is(err, driver.ErrClosed)
}

// unknownOutcome says that a request may have been applied.
func unknownOutcome(err error) error {
	if driver.OutcomeUnknown(err) {
		return err
	}
	return &driver.StoreError{Op: "grouped call", Err: err, Retryable: true, OutcomeUnknown: true}
}

// notSent says that a request was not applied, whatever err says of others.
func notSent(err error) error {
	if !driver.OutcomeUnknown(err) {
		return err
	}
	return &driver.StoreError{Op: "grouped call", Err: errors.New("not sent: " + err.Error()), Retryable: driver.Retryable(err)}
}

func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
