package redisstore

import (
	"context"
	"errors"
	"net"
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
		refusal, known := refusals[firstWord(reply.Error())]
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
	return errors.As(err, &reply) && firstWord(reply.Error()) == "NOSCRIPT"
}

// firstWord returns an error reply's kind. What a script let through carries it too.
func firstWord(text string) string {
	text = strings.TrimPrefix(text, "ERR ")
	if i := strings.IndexAny(text, " :"); i >= 0 {
		text = text[:i]
	}
	return strings.TrimPrefix(text, "-")
}
