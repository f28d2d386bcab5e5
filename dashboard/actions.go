package dashboard

import (
	"net/http"

	"github.com/braidmq/braid"
)

// notices are what pages tell after an action.
var notices = map[string]string{
	"paused":    "The queue is paused: its jobs are not started any more.",
	"resumed":   "The queue is resumed.",
	"retried":   "The job waits again, with a fresh budget of attempts.",
	"cancelled": "The job is cancelled.",
	"asked":     "The job's worker was asked to cancel it.",
	"promoted":  "The job runs as soon as a worker is free.",
	"removed":   "The job is removed.",
	"run":       "A job of the schedule is enqueued.",
	"ended":     "The schedule is removed. Its jobs stay.",
}

func pauseQueue(c *call) (string, error) {
	return "paused", c.client.Pause(c.ctx, c.field("queue"))
}

func resumeQueue(c *call) (string, error) {
	return "resumed", c.client.Resume(c.ctx, c.field("queue"))
}

func retryJob(c *call) (string, error) {
	return "retried", c.client.Retry(c.ctx, c.field("id"))
}

func promoteJob(c *call) (string, error) {
	return "promoted", c.client.Promote(c.ctx, c.field("id"))
}

func cancelJob(c *call) (string, error) {
	results, err := c.client.CancelMany(c.ctx, c.field("id"))
	if err == nil {
		err = results[0].Err
	}
	if err != nil {
		return "", err
	}
	if results[0].State == braid.Active {
		return "asked", nil
	}
	return "cancelled", nil
}

func removeJob(c *call) (string, error) {
	id := c.field("id")
	removed, err := c.client.Remove(c.ctx, id)
	if err != nil || removed {
		return "removed", err
	}
	info, err := c.client.Get(c.ctx, id)
	if err != nil {
		return "", err
	}
	return "", &failure{http.StatusConflict, "The job is " + info.State.String() + ". Cancel it first."}
}

func runSchedule(c *call) (string, error) {
	_, err := c.client.RunSchedule(c.ctx, c.field("key"))
	return "run", err
}

func removeSchedule(c *call) (string, error) {
	removed, err := c.client.Unschedule(c.ctx, c.field("key"))
	if err == nil && !removed {
		err = braid.ErrNotFound
	}
	return "ended", err
}

// field returns what an action is about. It stands in the address of the form: browsers
// send what stands in its body with other line breaks.
func (c *call) field(name string) string {
	if c.query.Has(name) {
		return c.query.Get(name)
	}
	return c.r.PostForm.Get(name)
}
