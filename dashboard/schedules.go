package dashboard

import (
	"strings"
	"time"

	"github.com/braidmq/braid"
)

// scheduleRow is a schedule with its next slots, in its zone.
type scheduleRow struct {
	braid.ScheduleInfo
	Cadence string
	Next    []time.Time
	Payload string
	Hidden  bool
}

// schedulesData is what the page of the schedules shows.
type schedulesData struct {
	Schedules []scheduleRow
	More      int
}

const (
	mostSchedules = 500
	nextSlots     = 3
)

func schedules(c *call) (*page, error) {
	infos, err := c.client.Schedules(c.ctx, braid.ScheduleFilter{})
	if err != nil {
		return nil, err
	}
	data := schedulesData{More: max(len(infos)-mostSchedules, 0)}
	for _, info := range infos[:min(len(infos), mostSchedules)] {
		row := scheduleRow{ScheduleInfo: info, Cadence: info.Cron, Next: info.Upcoming(nextSlots), Payload: pretty(info.Payload)}
		if info.Every > 0 {
			row.Cadence = "every " + cadenceText(info.Every)
		}
		if c.h.redact && row.Payload != "" {
			row.Payload, row.Hidden = "", true
		}
		data.Schedules = append(data.Schedules, row)
	}
	return &page{name: "schedules", Title: "Schedules", Tab: "schedules", Data: data}, nil
}

// cadenceText writes a duration without the parts that are zero.
func cadenceText(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
