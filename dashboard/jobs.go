package dashboard

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/braidmq/braid"
)

// jobRow is a job in a list.
type jobRow struct {
	ID, Name, Queue string
	State           braid.State
	Priority        int
	Made, Max       int
	At              time.Time // when what matters about its state happened, or will
	AtLabel         string
	Took            time.Duration // of its latest run, once that has ended
	Error           string
	Flow            *braid.FlowProgress
}

func jobRows(jobs []*braid.JobInfo) []jobRow {
	rows := make([]jobRow, len(jobs))
	for i, j := range jobs {
		rows[i] = jobRow{ID: j.ID, Name: j.Name, Queue: j.Queue, State: j.State, Priority: j.Priority, Made: j.AttemptsMade, Max: j.AttemptsMax, Flow: j.Flow}
		r := &rows[i]
		switch j.State {
		case braid.Delayed:
			r.At, r.AtLabel = j.RunAt, "due"
		case braid.Active:
			r.At, r.AtLabel = j.ProcessedAt, "began"
		case braid.Completed, braid.Failed, braid.Cancelled:
			r.At, r.AtLabel = j.FinishedAt, "ended"
			if !j.ProcessedAt.IsZero() {
				r.Took = max(j.FinishedAt.Sub(j.ProcessedAt), 0)
			}
		default:
			r.At, r.AtLabel = j.EnqueuedAt, "enqueued"
		}
		var failed *braid.JobError
		if errors.As(j.Err(), &failed) {
			r.Error = failed.Message
		}
	}
	return rows
}

// jobsData is what a list of jobs shows.
type jobsData struct {
	Form     jobsForm
	Jobs     []jobRow
	States   []stateChoice
	Orders   []orderChoice
	Queues   []string // to choose from
	Problem  string   // what is wrong with the form
	Next     string   // the address of the next page
	First    string   // of the first page, from one further on
	Filtered bool
}

// jobsForm is what the address of a list says.
type jobsForm struct {
	Queue, Name, Order string
	States             []string
	Metadata           []string // key=value
}

type stateChoice struct {
	Name    string
	Chosen  bool
	Address string // of the list with this state alone, or without it
}

type orderChoice struct {
	Value, Text string
	Chosen      bool
}

var orders = []struct {
	value, text string
	by          braid.ListOrder
	ascending   bool
}{
	{"", "newest first", braid.ByEnqueuedAt, false},
	{"oldest", "oldest first", braid.ByEnqueuedAt, true},
	{"finished", "last finished first", braid.ByFinishedAt, false},
	{"due", "first due first", braid.ByRunAt, true},
}

var stateNames = []string{"waiting", "active", "delayed", "waiting-children", "completed", "failed", "cancelled"}

const jobsPage = 50

func jobs(c *call) (*page, error) {
	form := jobsForm{Queue: c.query.Get("queue"), Name: c.query.Get("name"), Order: c.query.Get("order")}
	for _, state := range c.query["state"] {
		if state != "" && !slices.Contains(form.States, state) {
			form.States = append(form.States, state)
		}
	}
	for _, pair := range c.query["metadata"] {
		if strings.TrimSpace(pair) != "" {
			form.Metadata = append(form.Metadata, pair)
		}
	}
	data := jobsData{Form: form, Filtered: form.Queue != "" || form.Name != "" || form.States != nil || form.Metadata != nil}
	data.addChoices(c)
	filter, err := form.filter()
	if err == nil {
		filter.Cursor = c.query.Get("cursor")
		var list braid.JobPage
		if list, err = c.client.List(c.ctx, filter); err == nil {
			data.Jobs = jobRows(list.Jobs)
			if list.Cursor != "" {
				data.Next = c.link("/jobs", form.parameters("cursor", list.Cursor)...)
			}
		}
	}
	if filter.Cursor != "" {
		data.First = c.link("/jobs", form.parameters()...)
	}
	p := &page{name: "jobs", Title: "Jobs", Tab: "jobs"}
	if err != nil {
		f := failureOf(err)
		if f.status >= http.StatusInternalServerError {
			return nil, err
		}
		data.Problem = f.text
	}
	if data.Queues, err = c.client.Queues(c.ctx); err != nil {
		return nil, err
	}
	data.Queues = data.Queues[:min(len(data.Queues), mostQueues)]
	p.Data = data
	return p, nil
}

// filter is what the form selects.
func (f *jobsForm) filter() (braid.ListFilter, error) {
	filter := braid.ListFilter{Queue: f.Queue, Name: f.Name, Limit: jobsPage}
	for _, name := range f.States {
		var state braid.State
		if err := state.UnmarshalText([]byte(name)); err != nil {
			return filter, err
		}
		filter.States = append(filter.States, state)
	}
	for _, pair := range f.Metadata {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return filter, &failure{http.StatusBadRequest, "Metadata is written as key=value."}
		}
		if filter.Metadata == nil {
			filter.Metadata = make(map[string]string)
		}
		filter.Metadata[keyUnescaper.Replace(key)] = value
	}
	for _, order := range orders {
		if order.value == f.Order {
			filter.OrderBy, filter.Ascending = order.by, order.ascending
			return filter, nil
		}
	}
	return filter, &failure{http.StatusBadRequest, "There is no such order."}
}

// In a pair, what its key could be confused with is escaped.
var (
	keyEscaper   = strings.NewReplacer("%", "%25", "=", "%3D")
	keyUnescaper = strings.NewReplacer("%25", "%", "%3D", "=", "%3d", "=")
)

// parameters are those of the address that says the same, and more.
func (f *jobsForm) parameters(more ...string) []string {
	all := []string{"queue", f.Queue, "name", f.Name, "order", f.Order}
	for _, state := range f.States {
		all = append(all, "state", state)
	}
	for _, pair := range f.Metadata {
		all = append(all, "metadata", pair)
	}
	return append(all, more...)
}

// addChoices offers states and orders.
func (d *jobsData) addChoices(c *call) {
	for _, name := range stateNames {
		other := d.Form
		chosen := slices.Contains(other.States, name)
		if chosen {
			other.States = slices.DeleteFunc(slices.Clone(other.States), func(s string) bool { return s == name })
		} else {
			other.States = append(slices.Clone(other.States), name)
		}
		d.States = append(d.States, stateChoice{name, chosen, c.link("/jobs", other.parameters()...)})
	}
	for _, order := range orders {
		d.Orders = append(d.Orders, orderChoice{order.value, order.text, order.value == d.Form.Order})
	}
}
