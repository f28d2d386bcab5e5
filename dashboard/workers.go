package dashboard

import "github.com/braidmq/braid"

// workersData is what the page of the workers shows.
type workersData struct {
	Workers         []braid.WorkerInfo
	More            int
	Slots, InFlight int
}

const shownWorkers = 500

func workers(c *call) (*page, error) {
	infos, err := c.client.Workers(c.ctx)
	if err != nil {
		return nil, err
	}
	data := workersData{Workers: infos[:min(len(infos), shownWorkers)], More: max(len(infos)-shownWorkers, 0)}
	for _, w := range infos {
		sum := slots(w.Queues)
		data.Slots, data.InFlight = data.Slots+sum.Slots, data.InFlight+sum.InFlight
	}
	return &page{name: "workers", Title: "Workers", Tab: "workers", Data: data}, nil
}
