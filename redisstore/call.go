package redisstore

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/braidmq/braid/driver"
)

// call is one run of a script: its arguments behind now and the settings.
type call struct {
	script *script
	now    string // packTime of now; empty where the script reads no time
	args   []any
	texts  []string // further arguments behind these
}

// run runs a script and returns its reply.
func (s *Store) run(ctx context.Context, op string, c call) (any, error) {
	replies, err := s.runAll(ctx, op, []call{c})
	if err != nil {
		return nil, err
	}
	return replies[0], nil
}

// runAll runs scripts one after the other in one round trip. When one fails, the
// replies are those of the calls before it; those after it may have been made.
func (s *Store) runAll(ctx context.Context, op string, calls []call) ([]any, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	replies := make([]any, len(calls))
	errs := make([]error, len(calls))
	err := await(ctx, func() {
		s.send(ctx, calls, replies, errs, false)
		for i, err := range errs {
			if isUnknownScript(err) {
				s.send(ctx, calls[i:], replies[i:], errs[i:], true)
				break
			}
		}
	})
	if err != nil {
		return nil, lost(op, err)
	}
	for i, err := range errs {
		if err != nil {
			err = storeError(op, err)
			if failure := (*driver.StoreError)(nil); errors.As(err, &failure) && slices.Contains(errs[i+1:], nil) {
				failure.OutcomeUnknown = true // for the calls behind it, some of which were made
			}
			return replies[:i], err
		}
	}
	return replies, nil
}

// send makes calls. With source, the scripts' text is sent along, which the server then
// knows; a call that was made already is left out.
func (s *Store) send(ctx context.Context, calls []call, replies []any, errs []error, source bool) {
	cmds := make([]*redis.Cmd, len(calls))
	if len(calls) == 1 {
		cmds[0] = s.command(ctx, calls[0], source)
		_ = s.client.Process(ctx, cmds[0])
	} else {
		pipe := s.client.Pipeline()
		for i := range calls {
			if source && !isUnknownScript(errs[i]) {
				continue
			}
			cmds[i] = s.command(ctx, calls[i], source)
			_ = pipe.Process(ctx, cmds[i])
		}
		_, _ = pipe.Exec(ctx)
	}
	for i, cmd := range cmds {
		if cmd != nil {
			replies[i], errs[i] = cmd.Result()
		}
	}
}

// command composes the command of one call.
func (s *Store) command(ctx context.Context, c call, source bool) *redis.Cmd {
	args := make([]any, 0, 6+len(c.args)+len(c.texts))
	if source {
		args = append(args, "EVAL", c.script.source)
	} else {
		args = append(args, "EVALSHA", c.script.sha)
	}
	args = append(args, 1, string(s.keys), c.now, s.scriptSettings)
	args = append(args, c.args...)
	for i := range c.texts {
		args = append(args, &c.texts[i]) // a pointer, unlike a string, is not copied to the heap
	}
	cmd := redis.NewCmd(ctx, args...)
	cmd.SetFirstKeyPos(3)
	return cmd
}

// await runs work and waits for its end, or that of the context: go-redis minds
// deadlines, but not cancellation.
func await(ctx context.Context, work func()) error {
	if ctx.Done() == nil {
		work()
		return nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// texts returns a reply that is a list of strings.
func texts(op string, reply any) ([]string, error) {
	list, ok := reply.([]any)
	if !ok {
		return nil, storeError(op, errCorrupt)
	}
	strings := make([]string, len(list))
	for i, item := range list {
		switch item := item.(type) {
		case string:
			strings[i] = item
		case int64:
			strings[i] = strconv.FormatInt(item, 10)
		default:
			return nil, storeError(op, errCorrupt)
		}
	}
	return strings, nil
}
