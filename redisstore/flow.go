package redisstore

import "github.com/braidmq/braid/driver"

const (
	flowFailFast = 1 << iota
	flowEarly
)

// unpackManifest reads a flow as lib/flow.lua packs it: marks (1 byte), then pending,
// completed, failed, cancelled, owed (4 each), the time of its landing (8), and its
// number.
func unpackManifest(packed string) (*driver.Manifest, error) {
	u := unpacker{rest: packed}
	m := &driver.Manifest{FailFast: u.byte()&flowFailFast != 0}
	for _, n := range []*int64{&m.Pending, &m.Completed, &m.Failed, &m.Cancelled} {
		*n = int64(u.uint(4))
	}
	if u.bad {
		return nil, errCorrupt
	}
	return m, nil
}
