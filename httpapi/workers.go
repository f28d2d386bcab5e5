package httpapi

import "github.com/braidmq/braid"

// Worker is a worker that is alive, as it last told of itself.
type Worker struct {
	ID        string        `json:"id"`
	Host      string        `json:"host,omitempty"`
	PID       int           `json:"pid,omitempty"`
	Version   string        `json:"version,omitempty" doc:"Of its program."`
	Queues    []WorkerQueue `json:"queues"`
	Names     []string      `json:"names" doc:"Of the jobs that it can run."`
	Since     Time          `json:"since"`
	BeatAt    Time          `json:"beatAt" doc:"When it last told of itself."`
	ExpiresAt Time          `json:"expiresAt" doc:"When it counts as gone if it does not tell again."`
}

// WorkerQueue is a queue that a worker works on.
type WorkerQueue struct {
	Name     string `json:"name"`
	Slots    int    `json:"slots" doc:"How many of its jobs the worker runs at once."`
	InFlight int    `json:"inFlight" doc:"How many of its jobs the worker has. Of a worker that leases jobs: as far as it does so through this server."`
}

// Workers are in the order of their ids.
type Workers struct {
	Workers []Worker `json:"workers"`
}

func workerEndpoints() []*endpoint {
	return []*endpoint{
		{method: get, path: "workers", role: RoleRead, tag: "workers", summary: "List the workers that are alive, 10,000 at most",
			reply: Workers{}, serve: func(c *call) (any, error) {
				infos, err := c.client.Workers(c.ctx)
				if err != nil {
					return nil, err
				}
				reply := Workers{Workers: make([]Worker, len(infos))}
				for i, info := range infos {
					reply.Workers[i] = workerOf(info)
				}
				return reply, nil
			}},
	}
}

func workerOf(info braid.WorkerInfo) Worker {
	w := Worker{
		ID: info.ID, Host: info.Host, PID: info.PID, Version: info.Version, Names: append([]string{}, info.Names...),
		Queues: make([]WorkerQueue, len(info.Queues)),
		Since:  timeOf(info.Since), BeatAt: timeOf(info.BeatAt), ExpiresAt: timeOf(info.ExpiresAt),
	}
	for i, q := range info.Queues {
		w.Queues[i] = WorkerQueue(q)
	}
	return w
}
