package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/braidmq/braid/driver"
)

// visitor asks a server for addresses, and notes how long the answers took.
type visitor struct {
	ctx    context.Context
	base   string
	rounds int
	limit  time.Duration
	timed  []timing
}

// timing is how long the answers of one address took.
type timing struct {
	address string
	note    string // which page of a list
	took    []time.Duration
	bytes   int
}

const api = "/api/v1/"

// deep is how many pages the deepest page of a list has before it.
const deep = 40

// visitAll asks for everything that there is to look at.
func (v *visitor) visitAll(l load) error {
	plain := []string{"/", "/queues", "/schedules", "/workers", "/metrics", "/healthz", "/readyz",
		api + "info", api + "openapi.json", api + "queues", api + "queues/email", api + "queues/imports", api + "workers",
		api + "schedules", api + "schedules?group=group-3", api + "schedules?jobName=charge-card", api + "schedules?queue=reports", api + "schedules/" + l.key,
		api + "stats", api + "stats?stepMinutes=60&from=" + hoursBefore(l.at, 24), api + "stats?queue=email&from=" + hoursBefore(l.at, 24),
		api + "stats/depth", api + "stats/depth?from=" + hoursBefore(l.at, 24)}
	for _, state := range states {
		id := url.PathEscape(l.byState[state])
		if id == "" {
			return fmt.Errorf("no job is %v", state)
		}
		plain = append(plain, "/job?id="+url.QueryEscape(l.byState[state]), api+"jobs/"+id, api+"jobs/"+id+"/attempts", api+"jobs/"+id+"/why")
	}
	for _, address := range plain {
		if err := v.visit(address, ""); err != nil {
			return err
		}
	}
	for _, filter := range filters() {
		if err := v.visitList("/jobs", api+"jobs", filter); err != nil {
			return err
		}
	}
	for _, limit := range []string{"limit=1000", "limit=1000&state=waiting", "limit=1000&state=completed&orderBy=finishedAt"} {
		if err := v.visit(api+"jobs?"+limit, ""); err != nil {
			return err
		}
	}
	if err := v.visitList("/flow", api+"flows/"+l.flow, url.Values{"id": {l.flow}}); err != nil {
		return err
	}
	if err := v.visit(api+"flows/"+l.flow+"?limit=1000", ""); err != nil {
		return err
	}
	return v.visitEvents()
}

func hoursBefore(at driver.Time, hours int) string {
	return url.QueryEscape(at.Std().Add(-time.Duration(hours) * time.Hour).UTC().Format(time.RFC3339))
}

var states = []driver.State{driver.Waiting, driver.Delayed, driver.Active, driver.WaitingChildren, driver.Completed, driver.Failed, driver.Cancelled}

// filters are those of the lists of jobs, as the dashboard writes them.
func filters() []url.Values {
	all := []url.Values{
		{}, {"order": {"oldest"}}, {"queue": {"email"}}, {"queue": {"imports"}}, {"name": {"charge-card"}}, {"name": {"none"}}, {"queue": {"none"}},
		{"queue": {"email"}, "name": {"send-reminder"}}, {"queue": {"email"}, "name": {"charge-card"}},
		{"metadata": {"tenant=t-7"}}, {"metadata": {"campaign=rare"}}, {"metadata": {"campaign=none"}}, {"metadata": {"tenant=t-7", "region=north"}},
		{"queue": {"billing"}, "metadata": {"tenant=t-7"}}, {"name": {"deliver-webhook"}, "metadata": {"tenant=t-7"}, "order": {"oldest"}},
		{"state": {"waiting", "active"}}, {"state": {"completed", "failed"}}, {"state": {"failed", "cancelled"}, "queue": {"webhooks"}},
		{"order": {"due"}, "state": {"delayed"}, "queue": {"email"}},
	}
	for _, state := range states {
		s := []string{state.String()}
		all = append(all, url.Values{"state": s}, url.Values{"state": s, "order": {"oldest"}}, url.Values{"state": s, "queue": {"email"}},
			url.Values{"state": s, "name": {"send-receipt"}}, url.Values{"state": s, "metadata": {"tenant=t-7"}},
			url.Values{"state": s, "queue": {"reports"}, "name": {"export-report"}, "metadata": {"tenant=t-7"}})
		if state == driver.Completed || state == driver.Failed || state == driver.Cancelled {
			all = append(all, url.Values{"state": s, "order": {"finished"}}, url.Values{"state": s, "order": {"finished"}, "name": {"send-receipt"}},
				url.Values{"state": s, "order": {"finished"}, "queue": {"email"}})
		}
	}
	return all
}

// asAPI writes a filter as the API does.
func asAPI(filter url.Values) url.Values {
	query := url.Values{}
	for key, values := range filter {
		switch {
		case key == "id": // of a flow: in the path
		case key == "metadata":
			for _, pair := range values {
				name, value, _ := strings.Cut(pair, "=")
				query.Add("metadata["+name+"]", value)
			}
		case key == "order" && values[0] == "oldest":
			query.Set("order", "asc")
		case key == "order" && values[0] == "due":
			query.Set("order", "asc")
			query.Set("orderBy", "runAt")
		case key == "order":
			query.Set("orderBy", "finishedAt")
		default:
			query[key] = values
		}
	}
	return query
}

// visitList asks for a list as a page and through the API, from its beginning, from the
// second page, and from one far behind.
func (v *visitor) visitList(page, list string, filter url.Values) error {
	query, cursor := asAPI(filter), ""
	for number := 1; number <= deep+1; number++ {
		if number == 1 || number == 2 || number == deep+1 {
			note := fmt.Sprintf("page %d", number)
			if err := v.visit(withCursor(page, filter, cursor), note); err != nil {
				return err
			}
			if err := v.visit(withCursor(list, query, cursor), note); err != nil {
				return err
			}
		}
		body, _, err := v.ask(withCursor(list, query, cursor))
		if err != nil {
			return err
		}
		var reply struct {
			Cursor string `json:"cursor"`
		}
		if err := json.Unmarshal(body, &reply); err != nil {
			return fmt.Errorf("%s: %w", list, err)
		}
		if cursor = reply.Cursor; cursor == "" {
			return nil
		}
	}
	return nil
}

func withCursor(path string, query url.Values, cursor string) string {
	with := url.Values{}
	for key, values := range query {
		with[key] = values
	}
	if cursor != "" {
		with.Set("cursor", cursor)
	}
	if len(with) == 0 {
		return path
	}
	return path + "?" + with.Encode()
}

// visit asks for an address several times.
func (v *visitor) visit(address, note string) error {
	t := timing{address: address, note: note}
	for range v.rounds {
		body, took, err := v.ask(address)
		if err != nil {
			return err
		}
		t.took, t.bytes = append(t.took, took), len(body)
	}
	v.timed = append(v.timed, t)
	return nil
}

// ask asks once; whatever is not a good answer is an error.
func (v *visitor) ask(address string) ([]byte, time.Duration, error) {
	request, err := http.NewRequestWithContext(v.ctx, http.MethodGet, v.base+address, nil)
	if err != nil {
		return nil, 0, err
	}
	began := time.Now()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	took := time.Since(began)
	if err == nil && (response.StatusCode != http.StatusOK || bytes.Contains(body, []byte(`class="problem"`))) {
		err = fmt.Errorf("status %d: %.500s", response.StatusCode, body)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", address, err)
	}
	return body, took, nil
}

// visitEvents waits for the first event of the stream, several times.
func (v *visitor) visitEvents() error {
	t := timing{address: api + "events", note: "first event"}
	for range v.rounds {
		took, err := v.firstEvent(t.address)
		if err != nil {
			return fmt.Errorf("%s: %w", t.address, err)
		}
		t.took = append(t.took, took)
	}
	v.timed = append(v.timed, t)
	return nil
}

func (v *visitor) firstEvent(address string) (time.Duration, error) {
	ctx, cancel := context.WithCancel(v.ctx)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, v.base+address, nil)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data:") {
			return time.Since(began), nil
		}
	}
	return 0, fmt.Errorf("it ended without an event: %w", lines.Err())
}

// report prints what was timed, the slowest last, and tells whether all were in time.
func (v *visitor) report(w io.Writer) error {
	for _, t := range v.timed {
		slices.Sort(t.took)
	}
	slices.SortStableFunc(v.timed, func(a, b timing) int { return int(a.took[len(a.took)-1] - b.took[len(b.took)-1]) })
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "p50\tmax\tbytes\taddress")
	late := 0
	for _, t := range v.timed {
		most := t.took[len(t.took)-1]
		if most > v.limit {
			late++
		}
		address, err := url.QueryUnescape(cutCursor(t.address))
		if err != nil {
			address = t.address
		}
		if t.note != "" {
			address += " (" + t.note + ")"
		}
		fmt.Fprintf(table, "%.1f\t%.1f\t%d\t%s\n", milliseconds(t.took[len(t.took)/2]), milliseconds(most), t.bytes, address)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if late > 0 {
		return fmt.Errorf("%d of %d addresses took longer than %v", late, len(v.timed), v.limit)
	}
	fmt.Fprintf(w, "\nall %d addresses within %v\n", len(v.timed), v.limit)
	return nil
}

// cutCursor leaves the cursor out of an address: it is long, and says nothing.
func cutCursor(address string) string {
	path, query, _ := strings.Cut(address, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return address
	}
	values.Del("cursor")
	return withCursor(path, values, "")
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
