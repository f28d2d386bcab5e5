package server

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// readyPatience is how long a store may take to show that it can serve.
const readyPatience = 2 * time.Second

// ready answers whether the server can serve: every store answers, and the
// housekeeping gets on. What is wrong in detail is in the log.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if s.stopping.Load() {
		writeText(w, http.StatusServiceUnavailable, "stopping\n")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), readyPatience)
	defer cancel()
	names := s.client.Stores()
	errs := make([]error, len(names))
	var asking sync.WaitGroup
	for i, name := range names {
		asking.Go(func() { errs[i] = s.client.On(name).Ping(ctx) })
	}
	asking.Wait()
	text, status := "", http.StatusOK
	for i, name := range names {
		if errs[i] != nil {
			text, status = text+"store "+name+": cannot be reached\n", http.StatusServiceUnavailable
		}
	}
	if err := s.keeper.Health().Err(); err != nil {
		text, status = text+"housekeeping: overdue\n", http.StatusServiceUnavailable
	}
	if status == http.StatusOK {
		text = "ready\n"
	}
	writeText(w, status, text)
}
