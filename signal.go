package braid

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// SignalContext returns a context for [Worker.Run] that ends with the first SIGINT
// or SIGTERM, which begins the graceful stop. The second one ends the program at
// once, as it would by default. Call the function to stop listening.
func SignalContext(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
