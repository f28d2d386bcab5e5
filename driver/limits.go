package driver

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// The limits of what a store holds. What is above the seam refuses what breaks
// them, before anything is stored.
const (
	MaxIDBytes   = 512 // job ids
	MaxNameBytes = 128 // job names and queues
	MaxKeyBytes  = 255 // dedup, schedule, child and metadata keys
	MaxCronBytes = 512 // cron expressions; their time zones are names
	// MaxMetadataEntries and MaxMetadataBytes bound the metadata of one job: how many
	// entries, and how many bytes of keys and values. A schedule's jobs have one
	// entry more, their slot.
	MaxMetadataEntries = 100
	MaxMetadataBytes   = 64 << 10
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
	}
	return checkEncoding(field, value)
}

func checkEncoding(field, value string) error {
	switch {
	case !utf8.ValidString(value):
		return &InvalidError{Field: field, Value: value, Reason: "is not valid UTF-8; send it as UTF-8"}
	case strings.IndexByte(value, 0) >= 0:
		return &InvalidError{Field: field, Value: value, Reason: "contains a NUL byte; leave it out"}
	}
	return nil
}

// CheckMetadata returns an [*InvalidError] unless a job can have the metadata, or be
// searched by it: at most [MaxMetadataEntries] entries of [MaxMetadataBytes] together,
// keys of 1 to [MaxKeyBytes] bytes, everything UTF-8 without NUL. Values may be empty.
func CheckMetadata(metadata map[string]string) error {
	if n := len(metadata); n > MaxMetadataEntries {
		return &InvalidError{Field: "metadata", Value: strconv.Itoa(n) + " entries",
			Reason: "are too many; the limit is " + strconv.Itoa(MaxMetadataEntries)}
	}
	size := 0
	for key, value := range metadata {
		if err := CheckText("metadata key", key, MaxKeyBytes); err != nil {
			return err
		}
		if err := checkEncoding("metadata value of "+key, value); err != nil {
			return err
		}
		size += len(key) + len(value)
	}
	if size > MaxMetadataBytes {
		return &InvalidError{Field: "metadata", Value: strconv.Itoa(size) + " bytes",
			Reason: "are too many for its keys and values; the limit is " + strconv.Itoa(MaxMetadataBytes) + "; put the rest into the payload"}
	}
	return nil
}
