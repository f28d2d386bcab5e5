package redisstore_test

import (
	"io"
	"log/slog"
)

// quiet swallows the log.
var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))
