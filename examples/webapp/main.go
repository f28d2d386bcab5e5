// Webapp is an HTTP server that puts slow work into jobs and tells how they are
// getting on. Producer and worker run in one process here; with a store that is
// shared they can be two programs.
//
//	go run ./examples/webapp
//	curl -X POST 'localhost:8081/thumbnails?image=cat.jpg'
//	curl localhost:8081/thumbnails/thumbnail-cat.jpg
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/memstore"
)

type Image struct {
	Name string `json:"name"`
}

type Thumbnail struct {
	File  string `json:"file"`
	Width int    `json:"width"`
}

// MakeThumbnail is idempotent by its key: however often a user clicks, an image has
// one job. Finished jobs stay for an hour.
var MakeThumbnail = braid.NewJob[Image, Thumbnail]("make-thumbnail",
	braid.Queue("images"), braid.Attempts(3), braid.Timeout(10*time.Second), braid.Keep(braid.KeepFor(time.Hour)),
).KeyBy(func(i Image) string { return "thumbnail-" + i.Name })

func main() {
	ctx, stop := braid.SignalContext(context.Background())
	defer stop()
	client := braid.NewClient(memstore.New())
	defer client.Close()

	worker := braid.NewWorker(client, braid.WorkerOptions{Concurrency: 4})
	MakeThumbnail.Handle(worker, func(ctx context.Context, image Image) (Thumbnail, error) {
		select { // stands for the work
		case <-time.After(2 * time.Second):
			return Thumbnail{File: image.Name + ".thumb", Width: 128}, nil
		case <-ctx.Done():
			return Thumbnail{}, ctx.Err()
		}
	})

	mux := http.NewServeMux()
	mux.HandleFunc("POST /thumbnails", func(w http.ResponseWriter, r *http.Request) {
		job, err := MakeThumbnail.Enqueue(r.Context(), client, Image{Name: r.URL.Query().Get("image")})
		if err != nil {
			fail(w, err)
			return
		}
		reply(w, map[string]any{"id": job.ID, "duplicate": job.Duplicate})
	})
	mux.HandleFunc("GET /thumbnails/{id}", func(w http.ResponseWriter, r *http.Request) {
		job, err := client.Get(r.Context(), r.PathValue("id"))
		if err != nil {
			fail(w, err)
			return
		}
		reply(w, job)
	})
	server := &http.Server{Addr: "127.0.0.1:8081", Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
			log.Print(err)
			stop()
		}
	}()
	log.Print("listening on http://", server.Addr)
	if err := worker.Run(ctx); err != nil { // returns when the signal came and the handlers have ended
		log.Print(err)
	}
	shutdown, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(shutdown); err != nil {
		log.Print(err)
	}
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		log.Print(err)
	}
}

func fail(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, braid.ErrInvalid):
		http.Error(w, err.Error(), http.StatusBadRequest)
	case errors.Is(err, braid.ErrNotFound):
		http.Error(w, err.Error(), http.StatusNotFound)
	default:
		log.Print(err)
		http.Error(w, "something went wrong", http.StatusInternalServerError)
	}
}
