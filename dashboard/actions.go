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
	return "paused", c.client.Pause(c.ctx, c.r.PostForm.Get("queue"))
}

func resumeQueue(c *call) (string, error) {
	return "resumed", c.client.Resume(c.ctx, c.r.PostForm.Get("queue"))
}

func retryJob(c *call) (string, error) {
	return "retried", c.client.Retry(c.ctx, c.r.PostForm.Get("id"))
}

func promoteJob(c *call) (string, error) {
	return "promoted", c.client.Promote(c.ctx, c.r.PostForm.Get("id"))
}

func cancelJob(c *call) (string, error) {
	results, err := c.client.CancelMany(c.ctx, c.r.PostForm.Get("id"))
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
	id := c.r.PostForm.Get("id")
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
	_, err := c.client.RunSchedule(c.ctx, c.r.PostForm.Get("key"))
	return "run", err
}

func removeSchedule(c *call) (string, error) {
	removed, err := c.client.Unschedule(c.ctx, c.r.PostForm.Get("key"))
	if err == nil && !removed {
		err = braid.ErrNotFound
	}
	return "ended", err
}
