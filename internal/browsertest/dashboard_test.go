package browsertest

import (
	"context"
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/dashboard"
	"github.com/braidmq/braid/driver"
)

func jobPath(id string) string { return "/job?" + url.Values{"id": {id}}.Encode() }

func TestEveryPageIsReachedFromTheOverview(t *testing.T) {
	v := visitLoaded(t)
	v.open("/")
	v.sees("#tiles", "Workers")
	v.sees("#failures", "slice bounds out of range")
	for _, page := range []struct{ link, heading, shows string }{
		{"Queues", "Queues", "imports"}, {"Jobs", "Jobs", "import-catalog"}, {"Schedules", "Schedules", "America/New_York"}, {"Workers", "Workers", "inventory.py"},
	} {
		v.click(page.link)
		v.sees("h1", page.heading)
		v.sees("main", page.shows)
	}
	v.click("Overview")
	v.sees("#busiest", "imports")
	v.click("resize-image")
	v.sees("h1", "resize-image failed")
	v.quiet()
}

func TestAFailedJobIsRetried(t *testing.T) {
	v := visitLoaded(t)
	v.open(jobPath(v.load.Failed))
	v.click("Stack")
	v.sees("#stack pre", "decode.go:118")
	v.click("Retry")
	v.sees(".notice", "waits again")
	v.sees("h1", "waiting")
	if got := v.state(v.load.Failed); got != braid.Waiting {
		t.Errorf("the job is %v", got)
	}
	v.quiet()
}

func TestJobsArePromotedCancelledAndRemoved(t *testing.T) {
	v := visitLoaded(t)
	v.open(jobPath(v.load.Delayed))
	v.click("Run now")
	v.sees("h1", "waiting")
	v.open(jobPath(v.load.Active))
	v.click("Cancel")
	v.sees(".notice", "asked to cancel it")
	v.sees(".why", "has not answered yet")
	v.open(jobPath(v.load.Waiting))
	v.sees(".why", "No worker that is alive handles")
	v.click("Cancel")
	v.sees("h1", "cancelled")
	v.click("Remove…")
	v.click("Remove it")
	v.sees("h1", "Jobs")
	v.sees(".notice", "removed")
	v.open(jobPath(v.load.Waiting))
	v.sees("h1", "Not Found")
	v.quiet()
}

func TestAQueueIsPausedAndResumed(t *testing.T) {
	v := visitLoaded(t)
	v.open("/queues")
	v.clickOn(`button[aria-label="Pause the queue email"]`)
	v.sees(".notice", "paused")
	v.clickOn(`button[aria-label="Resume the queue email"]`)
	v.sees(".notice", "resumed")
	if paused, err := v.client.PausedQueues(v.ctx); err != nil || len(paused) != 1 {
		t.Errorf("paused: %v, %v", paused, err)
	}
	v.quiet()
}

func TestFiltersLiveInTheAddress(t *testing.T) {
	v := visitLoaded(t)
	v.open("/jobs")
	v.click("failed")
	v.sees("#list", "failed")
	v.write(`input[name=name]`, "deliver-webhook")
	v.write(`input[name=metadata]`, "tenant=north")
	v.click("Filter")
	v.sees("#list", "deliver-webhook")
	address, err := browser.Address(v.ctx)
	v.must(err)
	for _, want := range []string{"state=failed", "name=deliver-webhook", "metadata=tenant%3Dnorth"} {
		if !strings.Contains(address, want) {
			t.Errorf("there is no %s in %s", want, address)
		}
	}
	if n := v.count("#list tbody tr .badge.failed"); n == 0 || n != v.count("#list tbody tr") {
		t.Errorf("%d of %d jobs have failed", n, v.count("#list tbody tr"))
	}
	v.click("Clear")
	v.sees("#list", "Next page")
	v.click("Next page")
	v.sees("#list", "First page")
	v.quiet()
}

func TestASchedulesIsRunAndRemoved(t *testing.T) {
	v := visitLoaded(t)
	v.open("/schedules")
	v.clickOn(`button[aria-label="Run the schedule poll-warehouses now"]`)
	v.sees(".notice", "enqueued")
	v.clickOn(`summary[aria-label="Remove the schedule poll-warehouses"]`)
	v.clickOn(`details[open] button.danger`)
	v.sees(".notice", "The schedule is removed")
	if strings.Contains(v.text("#schedules"), "poll-warehouses") {
		t.Error("the schedule is still there")
	}
	v.quiet()
}

func TestAFlowIsShownAsATree(t *testing.T) {
	v := visitLoaded(t)
	v.open(jobPath(v.load.Flow))
	v.click("The children")
	v.sees("#flow", "mailbox does not exist")
	v.sees(".tree .tree", "reviews")
	v.click("margaret")
	v.sees("h1", "send-issue failed")
	v.click(v.load.Flow)
	v.sees("h1", "send-newsletter")
	v.quiet()
}

func TestAPageIsLive(t *testing.T) {
	v := visitLoaded(t)
	v.open("/queues")
	v.sees("#live", "live")
	if _, err := v.client.Enqueue(v.ctx, "new", nil, braid.Queue("brand-new")); err != nil {
		t.Fatal(err)
	}
	v.sees("#queues", "brand-new")
	v.quiet()
}

func TestPagesWorkWithoutScript(t *testing.T) {
	v := visitLoaded(t)
	v.must(browser.Scripts(v.ctx, false))
	defer func() { v.must(browser.Scripts(context.WithoutCancel(v.ctx), true)) }()
	v.open("/")
	v.sees("#tiles", "Waiting")
	v.open(jobPath(v.load.Failed))
	v.click("Retry")
	v.sees(".notice", "waits again")
}

func TestTheKeyboardIsEnough(t *testing.T) {
	v := visitLoaded(t)
	v.open("/queues")
	v.must(browser.Press(v.ctx, KeyTab+KeyEnter)) // the way to skip the navigation
	v.must(browser.Press(v.ctx, KeyTab))
	var focused string
	v.must(browser.Run(v.ctx, "return document.activeElement.textContent", &focused))
	if focused != "billing" {
		t.Errorf("behind the way to the content comes %q", focused)
	}
	for range 8 { // its name and seven numbers
		v.must(browser.Press(v.ctx, KeyTab))
	}
	v.must(browser.Press(v.ctx, KeyEnter))
	v.sees(".notice", "paused")
	v.sees("#queues tbody tr", "billing paused")
}

func TestNothingHostileRuns(t *testing.T) {
	v := visitEmpty(t)
	attacks := []string{
		`<script>document.title="owned"</script>`, `"><img src=x onerror=document.title="owned">`, `'><svg/onload=document.title="owned">`,
		`javascript:document.title="owned"`, "line\r\nbreak", "\u202egnp.exe",
	}
	for _, attack := range attacks {
		id, err := v.client.Enqueue(v.ctx, attack, []byte(`{"a":"</pre><script>document.title='owned'</script>"}`), braid.Queue(attack), braid.ID(attack),
			braid.Metadata(map[string]string{attack: attack}))
		v.must(err)
		now := driver.TimeOf(v.clock())
		v.must(v.store.BeatWorker(v.ctx, now, driver.WorkerRecord{ID: attack, Host: attack, Version: attack, ExpiresAt: now + 600_000,
			Queues: []driver.WorkerQueue{{Name: attack, Slots: 1}}, Names: []string{attack}}))
		_, err = v.client.Schedule(v.ctx, attack, attack, braid.Every(3_600_000_000_000), nil, braid.Queue(attack))
		v.must(err)
		for _, path := range []string{"/", "/queues", "/jobs?" + url.Values{"queue": {attack}, "metadata": {attack}}.Encode(), jobPath(id.ID), "/schedules", "/workers"} {
			v.open(path)
			var title string
			v.must(browser.Run(v.ctx, "return document.title", &title))
			if title == "owned" || v.count("main script, main img, main svg[onload]") > 0 {
				t.Fatalf("%s runs %q", path, attack)
			}
		}
		v.open(jobPath(attack))
		v.click("Cancel")
		v.sees("h1", "cancelled")
	}
	v.quiet()
}

func TestALoginOpensTheDashboard(t *testing.T) {
	check := func(token string) dashboard.Access { return dashboard.Access{Read: token == "reader-0123456789"} }
	v := visitLoaded(t, dashboard.WithLogin(check))
	v.open("/queues")
	v.sees("h1", "Log in")
	v.write("input[name=token]", "wrong"+KeyEnter)
	v.sees(".problem", "does not let you look")
	v.write("input[name=token]", "reader-0123456789"+KeyEnter)
	v.sees("h1", "Queues")
	if v.count("#queues button") != 0 {
		t.Error("a reader is offered what he may not do")
	}
	var cookies string
	v.must(browser.Run(v.ctx, "return document.cookie", &cookies))
	if cookies != "" || strings.Contains(cookies, base64.RawURLEncoding.EncodeToString([]byte("reader-0123456789"))) {
		t.Errorf("a script sees the cookies %q", cookies)
	}
	v.click("Log out")
	v.sees("h1", "Log in")
}
