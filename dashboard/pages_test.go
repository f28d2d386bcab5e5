package dashboard

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
)

func TestTheOverviewTellsHowItGoes(t *testing.T) {
	b := loaded(t)
	page := b.get("/")
	page.shows("Waiting", "Active 7", "Delayed 27", "Failed", "Workers 4 9 of 193 slots", "Jobs to run", "Runs per minute", "Mean time per run",
		"imports", "reports paused", "Latest failures", "resize-image", "after 3 of 3 attempts", "slice bounds out of range")
	if n := strings.Count(page.body, "<g><title>"); n < 50 || n > 60 {
		t.Errorf("the chart has %d bars", n)
	}
	empty := newBench(t).get("/")
	empty.shows("Waiting 0", "nothing in the last hour", "There are no queues yet", "No job has failed")
}

func TestAnOverviewOfManyQueuesIsShort(t *testing.T) {
	b := newBench(t)
	for i := range 250 {
		if _, err := b.client.Enqueue(t.Context(), "j", nil, braid.Queue(fmt.Sprintf("queue-%03d", i))); err != nil {
			t.Fatal(err)
		}
	}
	b.get("/").shows("and 238 more")
	b.get("/queues").shows("queue-000", "queue-199", "and 50 more")
}

func TestQueuesArePausedAndResumed(t *testing.T) {
	b := loaded(t)
	b.get("/queues").shows("billing", "email", "imports", "52", "reports paused", "Resume", "thumbnails")
	if to := b.post("/queues/pause", "queue", "email", "next", "/queues").leads("paused"); to != "/queues" {
		t.Errorf("it leads to %s", to)
	}
	b.get("/queues", "notice", "paused").shows("The queue is paused", "email paused")
	b.post("/queues/resume", "queue", "email", "next", "/queues").leads("resumed")
	if paused, err := b.client.PausedQueues(t.Context()); err != nil || len(paused) != 1 {
		t.Errorf("paused: %v, %v", paused, err)
	}
	b.post("/queues/pause", "queue", "").refused(http.StatusBadRequest, "queue")
}

func TestJobsAreFiltered(t *testing.T) {
	b := loaded(t)
	rows := func(page answer) int { return strings.Count(page.body, `<th scope="row">`) }
	all := b.get("/jobs")
	all.shows("Next page")
	if rows(all) != 50 {
		t.Errorf("a page has %d jobs", rows(all))
	}
	failed := b.get("/jobs", "state", "failed", "order", "finished")
	failed.shows("resize-image", "failed", "3 of 3", "ended")
	for name, page := range map[string]answer{
		"by queue":    b.get("/jobs", "queue", "imports", "state", "waiting", "state", "delayed"),
		"by name":     b.get("/jobs", "name", "import-catalog"),
		"by metadata": b.get("/jobs", "name", "import-catalog", "metadata", "tenant=north", "metadata", ""),
		"by due time": b.get("/jobs", "queue", "email", "state", "delayed", "order", "due"),
	} {
		page.shows()
		if n := rows(page); n == 0 || n > 50 {
			t.Errorf("%s: %d rows", name, n)
		}
	}
	if north, south := rows(b.get("/jobs", "name", "import-catalog", "metadata", "tenant=north")), rows(b.get("/jobs", "name", "import-catalog", "metadata", "tenant=south")); north+south != 52 {
		t.Errorf("%d of one tenant, %d of the other", north, south)
	}
	b.get("/jobs", "name", "nobody").shows("No job is like that.")
	for field, parameters := range map[string][]string{
		"state":    {"state", "odd"},
		"order":    {"order", "odd"},
		"Metadata": {"metadata", "no pair"},
		"cursor":   {"cursor", "odd"},
	} {
		page := b.get("/jobs", parameters...)
		page.shows("Filter", field)
		if !strings.Contains(page.body, `class="problem"`) {
			t.Errorf("%v: the page does not tell what is wrong", parameters)
		}
	}
}

func TestPagesOfJobsLoseNothing(t *testing.T) {
	b := loaded(t)
	seen := map[string]bool{}
	next := "/jobs?name=send-receipt&order=oldest"
	for pages := 0; next != ""; pages++ {
		page := b.do(httptest.NewRequest(http.MethodGet, next, nil))
		page.shows()
		for _, part := range strings.Split(page.body, `href="/job?id=`)[1:] {
			id, _, _ := strings.Cut(part, `"`)
			seen[id] = true
		}
		before, _, more := strings.Cut(page.body, `">Next page`)
		if next = ""; more {
			next = strings.ReplaceAll(before[strings.LastIndex(before, `href="`)+6:], "&amp;", "&")
		}
		if pages > 20 {
			t.Fatal("the pages do not end")
		}
		if pages > 0 {
			page.has("First page")
		}
	}
	want := 0
	for _, err := range b.client.All(t.Context(), braid.ListFilter{Name: "send-receipt"}) {
		if err != nil {
			t.Fatal(err)
		}
		want++
	}
	if len(seen) != want || want < 100 {
		t.Errorf("the pages show %d jobs of %d", len(seen), want)
	}
}

func TestAJobIsShownWhole(t *testing.T) {
	b := loaded(t)
	b.get("/job", "id", b.load.Failed).shows("resize-image failed", b.load.Failed, "Retry", "Remove", "Error", "slice bounds out of range [:512]", "*shop.Error",
		"decode.go:118", "thumbnails", "3 of 3", "Trace", "tenant", "Payload", `"widths": [`, "Runs", "3 failed", "900 ms", "2 retried", "1 retried")
	b.get("/job", "id", b.load.Waiting).shows("waiting", "Cancel", "Why it is waiting", "No worker that is alive handles", "of its queue", "It has not run yet")
	b.get("/job", "id", b.load.Delayed).shows("delayed", "Run now", "Why it is waiting", "It is not due before")
	b.get("/job", "id", b.load.Active).shows("active", "Cancel", "What it is doing", "runs it since")
	b.get("/job", "id", b.load.Completed).shows("completed", "Remove", "Result", `"ok": true`)
	b.get("/job", "id", b.load.Flow).shows("waiting-children", "It waits for", "Flow", "The children", "completed")
	b.get("/job", "id", "nobody").refused(http.StatusNotFound, "It is not here")
	b.get("/job").refused(http.StatusNotFound)
}

func TestNumbersOfAPayloadKeepEveryDigit(t *testing.T) {
	b := newBench(t)
	h, err := b.client.Enqueue(t.Context(), "j", []byte(`{"n":9007199254740993,"e":1e400,"s":"\u0000\ud800"}`))
	if err != nil {
		t.Fatal(err)
	}
	b.get("/job", "id", h.ID).shows("9007199254740993", "1e400", `\u0000\ud800`)
	long, err := b.client.Enqueue(t.Context(), "j", []byte(`"`+strings.Repeat("x", 300_000)+`"`))
	if err != nil {
		t.Fatal(err)
	}
	page := b.get("/job", "id", long.ID)
	page.shows("bytes more")
	if len(page.body) > 100_000 {
		t.Errorf("the page of a long payload has %d bytes", len(page.body))
	}
}

func TestJobsAreOperatedOn(t *testing.T) {
	b := loaded(t)
	here := func(id string) string { return "/job?" + url.Values{"id": {id}}.Encode() }
	b.post("/job/retry", "id", b.load.Failed, "next", here(b.load.Failed)).leads("retried")
	b.post("/job/promote", "id", b.load.Delayed, "next", here(b.load.Delayed)).leads("promoted")
	b.post("/job/cancel", "id", b.load.Waiting, "next", here(b.load.Waiting)).leads("cancelled")
	b.post("/job/cancel", "id", b.load.Active, "next", here(b.load.Active)).leads("asked")
	for id, want := range map[string]braid.State{b.load.Failed: braid.Waiting, b.load.Delayed: braid.Waiting, b.load.Waiting: braid.Cancelled, b.load.Active: braid.Active} {
		if got := b.state(id); got != want {
			t.Errorf("job %s is %v, want %v", id, got, want)
		}
	}
	b.get("/job", "id", b.load.Active, "notice", "asked").shows("was asked to cancel it")
	b.post("/job/retry", "id", b.load.Failed).refused(http.StatusConflict, "Not retryable")
	b.post("/job/promote", "id", b.load.Failed).refused(http.StatusConflict, "Not promotable")
	b.post("/job/cancel", "id", b.load.Waiting).refused(http.StatusConflict, "Not cancellable")
	b.post("/job/cancel", "id", "nobody").refused(http.StatusNotFound)
	b.post("/job/remove", "id", b.load.Active).refused(http.StatusConflict, "Cancel it first")
	b.post("/job/remove", "id", "nobody").refused(http.StatusNotFound)
	if to := b.post("/job/remove", "id", b.load.Completed, "next", "/jobs?queue=email").leads("removed"); to != "/jobs" {
		t.Errorf("it leads to %s", to)
	}
	b.get("/job", "id", b.load.Completed).refused(http.StatusNotFound)
}

func TestAFlowIsATree(t *testing.T) {
	b := loaded(t)
	b.get("/flow", "id", b.load.Flow).shows("send-newsletter waiting-children", "completed", "1 failed", "of 9",
		"ada", "completed", "margaret", "failed", "mailbox does not exist", "weekly-digest", "build-digest", "pending", "waiting-children", "2 completed", "of 4", "charts", "reviews")
	b.get("/flow", "id", b.load.Waiting).shows("It has not handed out its children yet")
	b.get("/flow", "id", "nobody").refused(http.StatusNotFound)
}

func TestSchedulesRunAndGo(t *testing.T) {
	b := loaded(t)
	page := b.get("/schedules")
	page.shows("daily-sales", "export-report", "0 7 * * MON-FRI", "America/New_York", "skipped while one runs", "07:00:00 E",
		"invoice-run", "Europe/Berlin", "poll-warehouses", "every 10m", "weekly-newsletter", "+11")
	before, err := b.client.Counts(t.Context(), "imports")
	if err != nil {
		t.Fatal(err)
	}
	b.post("/schedules/run", "key", "poll-warehouses", "next", "/schedules").leads("run")
	if after, err := b.client.Counts(t.Context(), "imports"); err != nil || after.Waiting != before.Waiting+1 {
		t.Errorf("%+v, then %+v, %v", before, after, err)
	}
	b.post("/schedules/remove", "key", "poll-warehouses", "next", "/schedules").leads("ended")
	if strings.Contains(b.get("/schedules").body, "poll-warehouses") {
		t.Error("a schedule that was removed is shown")
	}
	b.post("/schedules/remove", "key", "poll-warehouses").refused(http.StatusNotFound)
	b.post("/schedules/run", "key", "poll-warehouses").refused(http.StatusNotFound)
	newBench(t).get("/schedules").shows("There are no schedules")
}

func TestWorkersAreShown(t *testing.T) {
	b := loaded(t)
	b.get("/workers").shows("4 alive, 9 of 193 slots taken", "inventory.py", "imports 0 of 1", "shop-1", "process 417", "v2.14.0", "billing 1 of 4", "3 days ago")
	newBench(t).get("/workers").shows("No worker is alive")
}

func TestStoresAreChosen(t *testing.T) {
	b := loaded(t)
	page := b.get("/jobs", "store", "other")
	page.shows("No job is like that.")
	if !strings.Contains(page.body, `href="/queues?store=other"`) || !strings.Contains(page.body, `name="store" value="other"`) {
		t.Error("links and forms leave the store")
	}
	if page := b.get("/"); !strings.Contains(page.body, `href="/?store=other"`) {
		t.Error("the other store cannot be chosen")
	}
	if _, err := b.client.On("other").Enqueue(t.Context(), "far", nil, braid.ID("far-1")); err != nil {
		t.Fatal(err)
	}
	b.post("/job/cancel?store=other", "id", "far-1", "next", "/job?id=far-1&store=other").leads("cancelled")
	b.get("/job", "id", "far-1").refused(http.StatusNotFound)
	b.get("/", "store", "none").refused(http.StatusNotFound, "There is no store of that name")
}

func TestPayloadsAreHidden(t *testing.T) {
	b := loaded(t, WithoutPayloads())
	for _, id := range []string{b.load.Failed, b.load.Completed} {
		page := b.get("/job", "id", id)
		page.shows("Payloads and results are hidden")
		if strings.Contains(page.body, "<h2 id=\"payload-title\"") || strings.Contains(page.body, "widths") || strings.Contains(page.body, "example.com") || strings.Contains(page.body, "&#34;ok") {
			t.Errorf("job %s: its payload or result is shown", id)
		}
	}
	if page := b.get("/schedules"); strings.Contains(page.body, "yesterday") {
		t.Error("the payload of a schedule is shown")
	}
}

func TestAStoreThatIsGoneIsTold(t *testing.T) {
	b := loaded(t)
	b.store.Close()
	for _, path := range []string{"/", "/queues", "/jobs", "/job?id=a", "/flow?id=a", "/schedules", "/workers"} {
		b.do(httptest.NewRequest(http.MethodGet, path, nil)).refused(http.StatusServiceUnavailable, "The store cannot be reached")
	}
	b.post("/queues/pause", "queue", "email").refused(http.StatusServiceUnavailable)
	if !strings.Contains(b.log.String(), "a page of the dashboard failed") {
		t.Error("the log does not tell")
	}
}

func TestABaseIsInEveryLink(t *testing.T) {
	b := loaded(t, WithBase("/ops/jobs/"))
	for _, path := range []string{"/", "/queues", "/jobs", "/job?id=" + b.load.Failed, "/flow?id=" + b.load.Flow, "/schedules", "/workers"} {
		page := b.get("/ops/jobs" + path)
		page.shows()
		for _, attribute := range []string{`href="`, `action="`, `src="`} {
			for _, part := range strings.Split(page.body, attribute)[1:] {
				if !strings.HasPrefix(part, "/ops/jobs/") && !strings.HasPrefix(part, "#") {
					t.Errorf("%s leads to %s", path, part[:min(len(part), 40)])
				}
			}
		}
	}
	b.get("/queues").refused(http.StatusNotFound)
	b.post("/ops/jobs/queues/pause", "queue", "email", "next", "https://evil.example/").leads("paused")
}

func TestAssetsAreKeptByBrowsers(t *testing.T) {
	b := newBench(t)
	for name, a := range assets {
		fresh := b.get("/static/"+name, "v", a.version)
		fresh.shows()
		if !strings.Contains(fresh.header.Get("Cache-Control"), "immutable") || fresh.header.Get("Content-Type") != a.contentType {
			t.Errorf("%s: %v", name, fresh.header)
		}
		if old := b.get("/static/"+name, "v", "old"); old.header.Get("Cache-Control") != "no-store" {
			t.Errorf("an old %s is kept: %v", name, old.header)
		}
	}
	if page := b.get("/static/none.css"); page.status != http.StatusNotFound {
		t.Errorf("a file that is not there: %d", page.status)
	}
}

func TestPagesMakeAsManyCallsWhateverTheStoreHolds(t *testing.T) {
	b := loaded(t)
	calls := func() map[string]int {
		made := map[string]int{}
		for _, path := range []string{"/", "/queues", "/jobs?queue=imports", "/jobs?state=failed&order=finished", "/workers", "/job?id=" + b.load.Failed, "/flow?id=" + b.load.Flow, "/schedules"} {
			before := b.counted.All()
			b.do(httptest.NewRequest(http.MethodGet, path, nil)).shows()
			made[path] = b.counted.All() - before
		}
		return made
	}
	few := calls()
	batch := make([]driver.EnqueueRequest, 250)
	for i := range batch {
		batch[i] = driver.EnqueueRequest{Spec: driver.Spec{Name: "bulk", Queue: "imports", AttemptsMax: 1, Payload: []byte(`{"a":1}`)}}
	}
	for range 40 {
		if _, err := b.store.Enqueue(t.Context(), driver.TimeOf(time.Now()), batch); err != nil {
			t.Fatal(err)
		}
	}
	if many := calls(); !maps.Equal(few, many) {
		t.Errorf("with few jobs the pages make %v calls, with many %v", few, many)
	}
	for path, n := range few {
		if n > 25 {
			t.Errorf("%s makes %d calls", path, n)
		}
	}
}
