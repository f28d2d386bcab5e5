package driver

import (
	"strconv"
	"unicode/utf8"
)

// The limits of what a store holds. What is above the seam refuses what breaks
// them, before anything is stored.
const (
	MaxIDBytes   = 512 // job ids
	MaxNameBytes = 128 // job names and queues
	MaxKeyBytes  = 255 // dedup, schedule, child and metadata keys
	// DefaultMaxValueBytes bounds one payload or exit, unless configured.
	DefaultMaxValueBytes = 64 << 20

	ChunkJobs  = 250     // the most jobs that one script or transaction writes
	ChunkBytes = 8 << 20 // the most bytes that one moves; a larger item goes alone

	// ChunkReports is the most child reports that one atomic step records.
	ChunkReports = 500
	// ListLookups is the most entries that one List call applies filters to.
	ListLookups = 1000
	// PositionLimit is where Position stops counting.
	PositionLimit = 1000
	// MaxFlowDepth is the deepest that flows nest.
	MaxFlowDepth = 8
)

// Prefixes of ids that Braid computes itself; users' ids do not begin with them.
const (
	FlowIDPrefix     = "flow/"
	ScheduleIDPrefix = "sched/"
)

// CheckText returns an [*InvalidError] unless value is 1 to limit bytes of UTF-8
// without NUL.
func CheckText(field, value string, limit int) error {
	switch {
	case value == "":
		return &InvalidError{Field: field, Value: value, Reason: "is empty; use 1 to " + strconv.Itoa(limit) + " bytes"}
	case len(value) > limit:
		return &InvalidError{Field: field, Value: value,
			Reason: "is " + strconv.Itoa(len(value)) + " bytes long; the limit is " + strconv.Itoa(limit)}
	case !utf8.ValidString(value):
		return &InvalidError{Field: field, Value: value, Reason: "is not valid UTF-8"}
	}
	for i := range len(value) {
		if value[i] == 0 {
			return &InvalidError{Field: field, Value: value, Reason: "contains a NUL byte"}
		}
	}
	return nil
}
