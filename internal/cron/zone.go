package cron

import "time"

// segment is a stretch of time in which a zone's offset stays the same.
type segment struct {
	start, end  int64 // seconds since the epoch; end is not part of it
	first, last bool  // without start, without end
	offset      int64 // seconds east of UTC
}

func segmentAt(at int64, loc *time.Location) segment {
	t := time.Unix(at, 0).In(loc)
	_, offset := t.Zone()
	start, end := t.ZoneBounds()
	return segment{
		start: start.Unix(), end: end.Unix(),
		first: start.IsZero(), last: end.IsZero(),
		offset: int64(offset),
	}
}

// wall returns what the segment's clock shows at an instant.
func (s segment) wall(at int64) int64 { return at + s.offset }

// maxOffset is more than any zone has been away from UTC, in seconds.
const maxOffset = 24 * 3600

// instantOf returns the first instant at which the wall clock of loc reaches or
// passes a wall time: the first of two, or the jump over it.
func instantOf(wall int64, loc *time.Location) int64 {
	seg := segmentAt(wall-maxOffset, loc)
	for !seg.last && seg.wall(seg.end) <= wall {
		seg = segmentAt(seg.end, loc)
	}
	if at := wall - seg.offset; seg.first || at >= seg.start {
		return at
	}
	return seg.start
}
