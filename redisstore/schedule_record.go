package redisstore

import (
	"encoding/binary"

	"github.com/braidmq/braid/driver"
)

// A schedule is packed as nextRunAt (8 bytes), its overlap rule (1), the id of its last
// job and its cadence (behind 2 bytes of length each), and what the server never reads:
// the group (behind 2), what appendSpecHead packs, the size of the metadata (4), and a
// spec. lib/schedule.lua reads and writes the first part. The cadence is cron and time
// zone (behind 2 each), and every (8).

func packSchedule(schedule *driver.Schedule) string {
	spec := driver.Spec{
		Name: schedule.JobName, Queue: schedule.Queue, Payload: schedule.Payload, Metadata: schedule.Metadata,
		Priority: schedule.Priority, AttemptsMax: schedule.AttemptsMax, Backoff: schedule.Backoff,
		Keep: schedule.Keep, Timeout: schedule.Timeout,
	}
	packed, metaSize := packSpec(&spec)
	cadence := appendText(nil, schedule.Cron)
	cadence = appendText(cadence, schedule.TZ)
	cadence = binary.BigEndian.AppendUint64(cadence, uint64(schedule.Every))

	b := make([]byte, 0, 128+len(packed))
	b = append(b, packTime(schedule.NextRunAt)...)
	b = append(b, byte(schedule.Overlap))
	b = appendText(b, "") // the store sets the last job
	b = appendText(b, string(cadence))
	b = appendText(b, schedule.Group)
	b = appendSpecHead(b, &spec)
	b = binary.BigEndian.AppendUint32(b, uint32(metaSize))
	return string(append(b, packed...))
}

func unpackSchedule(key, packed string) (driver.Schedule, error) {
	u := unpacker{rest: packed}
	schedule := driver.Schedule{Key: key, NextRunAt: u.time(), Overlap: driver.Overlap(u.byte()), LastJobID: u.text(2)}
	cadence := unpacker{rest: u.text(2)}
	schedule.Cron, schedule.TZ, schedule.Every = cadence.text(2), cadence.text(2), driver.Millis(cadence.int64())
	schedule.Group = u.text(2)
	var spec driver.Spec
	if err := u.specHead(&spec); err != nil {
		return schedule, err
	}
	metaSize := int(u.uint(4))
	if u.bad || cadence.err() != nil {
		return schedule, errCorrupt
	}
	if err := unpackSpec(u.rest, metaSize, &spec); err != nil {
		return schedule, err
	}
	schedule.JobName, schedule.Queue, schedule.Payload, schedule.Metadata = spec.Name, spec.Queue, spec.Payload, spec.Metadata
	schedule.Priority, schedule.AttemptsMax, schedule.Backoff = spec.Priority, spec.AttemptsMax, spec.Backoff
	schedule.Keep, schedule.Timeout = spec.Keep, spec.Timeout
	return schedule, nil
}
