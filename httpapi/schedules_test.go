package httpapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/braidmq/braid"
)

func TestSchedules(t *testing.T) {
	b := newBench(t)
	var s Schedule
	b.do("PUT", "/api/v1/schedules/a%2Fb", PutSchedule{
		JobName: "report", Cron: "30 9 * * *", Zone: "America/New_York", Payload: json.RawMessage(`[1]`), SkipOverlap: true,
		JobOptions: JobOptions{Queue: "reports", Priority: 2, Metadata: map[string]string{"k": "v"}, TimeoutMs: pointer(int64(0))},
	}).ok(&s)
	if s.Key != "a/b" || len(s.Upcoming) != 5 || !strings.Contains(s.Upcoming[0], "T09:30:00-0") || !s.SkipOverlap || *s.TimeoutMs != 0 {
		t.Errorf("declared %+v", s)
	}
	b.do("PUT", "/api/v1/schedules/often", PutSchedule{JobName: "tick", EveryMs: 1500}).ok(&s)
	b.do("PUT", "/api/v1/schedules/seconds", PutSchedule{JobName: "tick", Cron: "*/10 * * * * *"}).ok(&s)
	b.do("GET", "/api/v1/schedules/often", nil).ok(&s)
	if s.EveryMs != 1500 || s.Queue != "default" {
		t.Errorf("got %+v", s)
	}
	var all Schedules
	b.do("GET", "/api/v1/schedules?jobName=tick", nil).ok(&all)
	if len(all.Schedules) != 2 {
		t.Errorf("listed %+v", all)
	}
	var run Enqueued
	b.do("POST", "/api/v1/schedules/a%2Fb/run", nil).ok(&run)
	if job := b.get(run.ID); job.Name != "report" || job.Queue != "reports" || string(job.Payload) != "[1]" || job.State != braid.Waiting {
		t.Errorf("run %+v", job)
	}
	for _, want := range []bool{true, false} {
		var removed Removed
		b.do("DELETE", "/api/v1/schedules/often", nil).ok(&removed)
		if removed.Removed != want {
			t.Errorf("removed %v, want %v", removed.Removed, want)
		}
	}
	b.do("GET", "/api/v1/schedules/often", nil).refused(http.StatusNotFound, CodeNotFound, "")
	b.do("POST", "/api/v1/schedules/often/run", nil).refused(http.StatusNotFound, CodeNotFound, "")
	for _, test := range []struct {
		body  PutSchedule
		field string
	}{
		{PutSchedule{JobName: "a"}, "cron"},
		{PutSchedule{JobName: "a", Cron: "* * * * *", EveryMs: 1000}, "everyMs"},
		{PutSchedule{JobName: "a", EveryMs: 1}, "everyMs"},
		{PutSchedule{JobName: "a", EveryMs: 1000, Zone: "UTC"}, "zone"},
		{PutSchedule{JobName: "a", Cron: "0 0 30 2 *"}, "cron"},
		{PutSchedule{JobName: "a", Cron: "* * * * *", Zone: "Mars/Olympus"}, "zone"},
		{PutSchedule{JobName: "a", Cron: "* * * * *", Zone: "../../etc/passwd"}, "zone"},
		{PutSchedule{Cron: "* * * * *"}, "jobName"},
	} {
		b.do("PUT", "/api/v1/schedules/x", test.body).refused(http.StatusBadRequest, CodeInvalid, test.field)
	}
	b.do("PUT", "/api/v1/schedules/"+strings.Repeat("k", 256), PutSchedule{JobName: "a", EveryMs: 1000}).refused(http.StatusBadRequest, CodeInvalid, "key")
}
