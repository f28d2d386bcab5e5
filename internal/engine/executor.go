package engine

import (
	"bytes"
	"context"
	"runtime"
	"runtime/debug"
	"strconv"
)

// execute is an executor: a goroutine that runs one job after the other.
func (q *queue) execute() {
	id := goroutineID()
	q.arrive()
	var current *run
	done := false
	defer func() {
		if done {
			return
		}
		// The handler ended this goroutine.
		q.engine.settle(current, nil, &PanicError{Exit: true, Stack: debug.Stack()})
		q.vanish()
	}()
	for current = q.next(false); current != nil; current = q.next(true) {
		if !current.start(id) {
			q.engine.settleUnstarted(current)
			continue
		}
		exit, err := current.call()
		q.engine.settle(current, exit, err)
	}
	done = true
}

// call runs the handler; a panic becomes an error.
func (r *run) call() (exit []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			exit, err = nil, &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return r.handler.Run(&r.ctx, &r.Run)
}

// guard calls a function that is not the engine's own, and logs its panic.
func (e *Engine) guard(what string, f func()) {
	defer func() {
		if v := recover(); v != nil {
			e.config.Logger.Error("braid: "+what+" panicked", "panic", v, "stack", string(debug.Stack()))
		}
	}()
	f()
}

// guarded calls the store; a panic becomes an error.
func guarded(ctx context.Context, call func(context.Context) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return call(ctx)
}

// goroutineID returns the number by which stack dumps name this goroutine. It is
// only ever used to find a stack in a dump; 0 if it is not to be had.
func goroutineID() int64 {
	var buffer [64]byte
	head := buffer[:runtime.Stack(buffer[:], false)]
	fields := bytes.Fields(head)
	if len(fields) < 2 {
		return 0
	}
	id, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return id
}
