package httpapi

import "github.com/braidmq/braid"

// Why tells why a job is where it is.
type Why struct {
	ID      string      `json:"id"`
	State   braid.State `json:"state"`
	Reasons []Reason    `json:"reasons" doc:"The most telling first."`
}

// Reason is one thing that a job waits for, or that ended it.
type Reason struct {
	Code     string     `json:"code" enum:"paused,no-worker,not-due,due,jobs-ahead,next,running,lock-expired,cancel-requested,children,finished"`
	Text     string     `json:"text" doc:"A sentence for people."`
	Until    Time       `json:"until,omitzero" doc:"When it falls due, or its lock runs out."`
	Ahead    int        `json:"ahead,omitempty" doc:"How many jobs of the queue come before it, counted to 1,000."`
	Worker   string     `json:"worker,omitempty" doc:"Who holds the lock."`
	Children int64      `json:"children,omitempty" doc:"How many children of the flow are open."`
	Open     []ChildRef `json:"open,omitempty" doc:"Up to ten of them."`
}

// ChildRef names a child of a flow.
type ChildRef struct {
	Key   string `json:"key"`
	JobID string `json:"jobId"`
	Store string `json:"store"`
}

func whyOf(info braid.Why) Why {
	why := Why{ID: info.ID, State: info.State, Reasons: make([]Reason, len(info.Reasons))}
	for i, r := range info.Reasons {
		why.Reasons[i] = Reason{
			Code: string(r.Code), Text: r.Text, Until: timeOf(r.Until), Ahead: r.Ahead, Worker: r.Worker, Children: r.Children,
		}
		for _, child := range r.Open {
			why.Reasons[i].Open = append(why.Reasons[i].Open, ChildRef(child))
		}
	}
	return why
}
