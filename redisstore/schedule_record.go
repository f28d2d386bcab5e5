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

func packSchedule(schedule *driver.Schedule) (string, error) {
	spec := driver.Spec{
		Name: schedule.JobName, Queue: schedule.Queue, Payload: schedule.Payload, Metadata: schedule.Metadata,
		Priority: schedule.Priority, AttemptsMax: schedule.AttemptsMax, Backoff: schedule.Backoff,
		Keep: schedule.Keep, Timeout: schedule.Timeout,
	}
	packed, metaSize, err := packSpec(&spec)
	if err != nil {
		return "", err
	}
	cadence, err := appendTexts(nil, width2, packedText{"cron", schedule.Cron}, packedText{"tz", schedule.TZ})
	if err != nil {
		return "", err
	}
	cadence = binary.BigEndian.AppendUint64(cadence, uint64(schedule.Every))

	b := make([]byte, 0, 128+len(packed))
	b = append(b, packTime(schedule.NextRunAt)...)
	b = append(b, byte(schedule.Overlap))
	// The store sets the last job.
	b, err = appendTexts(b, width2, packedText{"last job", ""}, packedText{"cron", string(cadence)}, packedText{"group", schedule.Group})
	if err != nil {
		return "", err
	}
	if b, err = appendSpecHead(b, &spec); err != nil {
		return "", err
	}
	b = binary.BigEndian.AppendUint32(b, uint32(metaSize))
	return string(append(b, packed...)), nil
}

// readSchedule reads a schedule. One that is damaged is shown as such: it must not keep
// others from being listed, or from firing.
func readSchedule(key, packed string) driver.Schedule {
	schedule, err := unpackSchedule(key, packed)
	if err != nil {
		return driver.Schedule{Key: key, NextRunAt: schedule.NextRunAt, Damaged: true}
	}
	return schedule
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
