package redisstore

import "github.com/braidmq/braid/driver"

// unpackManifest reads a manifest as manifest_of of lib/flow.lua packs it.
func unpackManifest(packed string) (*driver.Manifest, error) {
	u := unpacker{rest: packed}
	m := &driver.Manifest{
		FailFast: u.byte() != 0, Pending: u.int64(), Completed: u.int64(), Failed: u.int64(), Cancelled: u.int64(),
	}
	return m, u.err()
}
