package redisstore

import (
	"context"
	"errors"
	"net"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/braidmq/braid/driver"
)

// Replies that refuse a call before it did anything, by their first word.
var refusals = map[string]struct{ retryable bool }{
	"READONLY":    {true}, // a replica: after a failover the client finds the primary
	"LOADING":     {true}, // the server is starting
	"OOM":         {true}, // maxmemory is reached
	"BUSY":        {true}, // a script runs too long
	"MISCONF":     {true}, // the server cannot persist, and so refuses writes
	"NOREPLICAS":  {true},
	"MASTERDOWN":  {true},
	"CLUSTERDOWN": {true},
	"TRYAGAIN":    {true},
	"MOVED":       {true}, // the client gave up following
	"ASK":         {true},
	"NOSCRIPT":    {true},
	"NOAUTH":      {false},
	"WRONGPASS":   {false},
	"NOPERM":      {false},
}

// storeError makes err, which a command returned, an error of the seam.
func storeError(op string, err error) error {
	if errors.Is(err, redis.ErrClosed) {
		return driver.ErrClosed
	}
	result := &driver.StoreError{Op: op, Err: err}
	var reply redis.Error
	var dial *net.OpError
	switch {
	case errors.Is(err, errCorrupt):
	case errors.As(err, &reply):
		refusal, known := refusals[replyKind(reply.Error())]
		result.Retryable = refusal.retryable
		// Any other error comes out of a script, which may have been under way.
		result.OutcomeUnknown = !known
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		result.Retryable = true
	case errors.As(err, &dial) && dial.Op == "dial":
		result.Retryable = true
	default:
		result.Retryable = true
		result.OutcomeUnknown = true
	}
	return result
}

// lost makes the end of a call's context, while the call was under way, an error of
// the seam.
func lost(op string, err error) error {
	return &driver.StoreError{Op: op, Err: err, Retryable: errors.Is(err, context.DeadlineExceeded), OutcomeUnknown: true}
}

// isUnknownScript reports whether the server refused a call because it does not have
// the script.
func isUnknownScript(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) && replyKind(reply.Error()) == "NOSCRIPT"
}

// replyKind returns the word that tells an error reply's kind. Older servers wrap the
// error of a command inside a script in one of their own.
func replyKind(text string) string {
	if wrapped := wrappedKind.FindStringSubmatch(text); wrapped != nil {
		return wrapped[1]
	}
	kind, _, _ := strings.Cut(text, " ")
	return kind
}

// wrappedKind finds what 6.2 calls "ERR Error running script (call to f_…):
// @user_script:1: @user_script: 1: -OOM command not allowed …".
var wrappedKind = regexp.MustCompile(`^ERR Error running script .*: -([A-Z]+) `)
