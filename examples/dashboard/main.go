// Dashboard mounts Braid's dashboard, and its HTTP API, in a program of its own, beside
// the program's own pages and behind its own guard.
//
//	go run ./examples/dashboard
//
// Then open http://localhost:8082/admin/jobs/ as admin, with the password secret.
package main

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/dashboard"
	"github.com/braidmq/braid/httpapi"
	"github.com/braidmq/braid/memstore"
)

// SendMail fails now and then, so that there is something to see.
var SendMail = braid.NewJob[string, string]("send-mail", braid.Queue("mail"), braid.Attempts(2),
	braid.Backoff(braid.Fixed(2*time.Second)), braid.Keep(braid.KeepFor(time.Hour)))

func main() {
	ctx, stop := braid.SignalContext(context.Background())
	defer stop()
	client := braid.NewClient(memstore.New())
	defer client.Close()

	worker := braid.NewWorker(client, braid.WorkerOptions{Concurrency: 3})
	SendMail.Handle(worker, func(ctx context.Context, to string) (string, error) {
		time.Sleep(rand.N(800 * time.Millisecond))
		if rand.IntN(5) == 0 {
			return "", errors.New("421 try again later")
		}
		return "sent to " + to, nil
	})
	go keepSending(ctx, client)

	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "The program's own pages. The jobs are at /admin/jobs/.")
	})
	// The dashboard follows the stream of events of the API, so that its pages are live.
	api := httpapi.New(client)
	mux.Handle(httpapi.Prefix, onlyStaff(api))
	mux.Handle("/admin/jobs/", onlyStaff(dashboard.New(client, dashboard.WithBase("/admin/jobs"), dashboard.WithEvents(httpapi.Prefix+"events"))))

	server := &http.Server{Addr: "localhost:8082", Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		<-ctx.Done()
		api.Drain() // ends the streams, which would keep Shutdown waiting
		ended, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = server.Shutdown(ended)
	}()
	go func() {
		if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
			log.Fatal(err)
		}
	}()
	log.Print("listening on http://localhost:8082/admin/jobs/")
	if err := worker.Run(ctx); err != nil {
		log.Print(err)
	}
}

// keepSending enqueues a mail every second.
func keepSending(ctx context.Context, client *braid.Client) {
	for n := 1; ctx.Err() == nil; n++ {
		if _, err := SendMail.Enqueue(ctx, client, fmt.Sprintf("reader-%d@example.com", n)); err != nil {
			log.Print(err)
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// onlyStaff stands for whatever guards the program's pages for its staff.
func onlyStaff(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, password, _ := r.BasicAuth()
		if name != "admin" || subtle.ConstantTimeCompare([]byte(password), []byte("secret")) != 1 {
			w.Header().Set("WWW-Authenticate", `Basic realm="staff"`)
			http.Error(w, "for the staff only", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
