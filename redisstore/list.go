package redisstore

import (
	"context"
	"strconv"
	"strings"

	"github.com/braidmq/braid/driver"
)

var listScript = loadScript("list")

// maxListLimit is the most jobs that one page holds, whatever is asked for.
const maxListLimit = 1000

// List implements [driver.Inspector]. Beyond what every store serves, it serves no
// other order than enqueuedAt.
func (s *Store) List(ctx context.Context, req driver.ListRequest) (driver.ListResult, error) {
	var result driver.ListResult
	at, err := req.Position()
	if err != nil {
		return result, err
	}
	states := stateDigits(req.States)
	if err := s.serves(&req, states); err != nil {
		return result, err
	}
	if req.States != nil && states == "" {
		return result, s.usable(ctx)
	}
	reply, err := s.run(ctx, "List", call{script: listScript, args: listArgs(&req, states, at)})
	if err != nil {
		return result, err
	}
	answer, err := texts("List", reply)
	if err != nil || len(answer) < 3 {
		return result, storeError("List", errCorrupt)
	}
	if result.Jobs, err = unpackRecords(answer[3:]); err != nil {
		return result, storeError("List", err)
	}
	if answer[0] == "1" {
		last, _ := scoreTime(answer[1])
		result.Cursor = driver.ListPosition{
			OrderBy: req.OrderBy, Ascending: req.Ascending, Time: last, ID: answer[2],
		}.Cursor()
	}
	return result, nil
}

// serves tells why a list is not served, if so.
func (s *Store) serves(req *driver.ListRequest, states string) error {
	if req.Name != "" && s.noNames || req.Queue != "" && s.noQueues {
		return driver.ErrListIndexDisabled
	}
	var served bool
	switch req.OrderBy {
	case driver.ByEnqueuedAt:
		served = true
	case driver.ByRunAt:
		served = states == "" || states == delayedDigits && req.Queue != ""
	case driver.ByFinishedAt:
		served = strings.Trim(states, terminalDigits) == ""
	default:
		return &driver.InvalidError{Field: "orderBy", Value: strconv.Itoa(int(req.OrderBy)),
			Reason: "is no order; use enqueuedAt, runAt or finishedAt"}
	}
	if !served || req.States == nil && req.OrderBy != driver.ByEnqueuedAt {
		return driver.ErrListOrderUnsupported
	}
	return nil
}

var (
	delayedDigits  = stateDigits([]driver.State{driver.Delayed})
	terminalDigits = stateDigits([]driver.State{driver.Completed, driver.Failed, driver.Cancelled})
)

// stateDigits returns the digits of the states, each once.
func stateDigits(states []driver.State) string {
	var wanted [driver.Cancelled + 1]bool
	for _, state := range states {
		if state.Valid() {
			wanted[state] = true
		}
	}
	digits := ""
	for _, state := range driver.States {
		if wanted[state] {
			digits += strconv.Itoa(int(state))
		}
	}
	return digits
}

func listArgs(req *driver.ListRequest, states string, at driver.Opt[driver.ListPosition]) []any {
	limit := req.Limit
	if limit <= 0 {
		limit = driver.DefaultListLimit
	}
	ascending, time, id := "0", "", ""
	if req.Ascending {
		ascending = "1"
	}
	if position, given := at.Get(); given {
		time, id = strconv.FormatInt(int64(position.Time), 10), position.ID
	}
	args := []any{int(req.OrderBy), req.Queue, req.Name, states, ascending, time, id,
		min(limit, maxListLimit), driver.ChunkBytes, driver.ListLookups}
	for key, value := range req.Metadata {
		args = append(args, key, value)
	}
	return args
}
