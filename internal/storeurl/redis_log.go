package storeurl

import (
	"context"
	"fmt"
	"log/slog"
)

// redisLog brings what the Redis client tells, such as each connection that it could
// not make, into the log of the program. That client has one logger per process, which
// writes lines of its own to stderr unless it is set: the program may set it, the store
// may not. What matters of it comes back as errors, too; so it is for those who debug.
type redisLog struct{ logger *slog.Logger }

// Printf implements the interface of the Redis client's loggers.
func (l redisLog) Printf(ctx context.Context, format string, values ...any) {
	if l.logger.Enabled(ctx, slog.LevelDebug) {
		l.logger.DebugContext(ctx, "braid: the Redis client: "+fmt.Sprintf(format, values...))
	}
}
