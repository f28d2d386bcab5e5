package redisstore

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/braidmq/braid/driver"
)

// The spec of a job is what an enqueue says about it, but for what the scripts need and
// the head therefore holds: name, queue, priority, keep and envelope. The server never
// looks into it, save for the metadata at its beginning, when a list filters by that:
// their number (2 bytes), then for each its key (behind 1 byte of length) and its value
// (behind 4). Without metadata this part is missing.
//
// After it: a byte of marks, attemptsMax, the parts that the marks announce, and the
// payload up to the end.
const (
	markBackoff = 1 << iota
	markTimeout
	markTrace
	markSampled
	markDelayed
)

// packSpec returns the spec, and how many of its bytes are metadata.
func packSpec(spec *driver.Spec) (packed string, metaSize int, err error) {
	b, metaSize, err := appendSpec(make([]byte, 0, len(spec.Payload)+64), spec)
	return string(b), metaSize, err
}

// appendSpec appends the spec to an empty b.
func appendSpec(b []byte, spec *driver.Spec) (packed []byte, metaSize int, err error) {
	if b, err = appendMetadata(b, spec.Metadata); err != nil {
		return b, 0, err
	}
	metaSize = len(b)
	marks := byte(0)
	if spec.Backoff != nil {
		marks |= markBackoff
	}
	if spec.Timeout.Set {
		marks |= markTimeout
	}
	if trace := spec.Trace; trace != nil {
		marks |= markTrace
		if trace.Sampled {
			marks |= markSampled
		}
		if trace.Delayed {
			marks |= markDelayed
		}
	}
	b = append(b, marks)
	b = binary.BigEndian.AppendUint32(b, uint32(spec.AttemptsMax))
	b = appendBackoff(b, spec.Backoff)
	if spec.Timeout.Set {
		b = binary.BigEndian.AppendUint64(b, uint64(spec.Timeout.Value))
	}
	if spec.Trace != nil {
		b, err = appendTexts(b, width2, packedText{"trace id", spec.Trace.TraceID}, packedText{"span id", spec.Trace.SpanID})
	}
	return append(b, spec.Payload...), metaSize, err
}

// appendMetadata appends metadata to an empty b; nothing if there is none.
func appendMetadata(b []byte, metadata map[string]string) (packed []byte, err error) {
	if len(metadata) == 0 {
		return b, nil
	}
	if b, err = appendLength(b, "metadata", len(metadata), width2); err != nil {
		return b, err
	}
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		if b, err = appendTexts(b, width1, packedText{"metadata key", key}); err != nil {
			return b, err
		}
		if b, err = appendTexts(b, width4, packedText{"metadata value", metadata[key]}); err != nil {
			return b, err
		}
	}
	_, err = appendLength(nil, "metadata", len(b), width4) // its size is kept apart
	return b, err
}

// unpackSpec reads a spec into what it is a part of.
func unpackSpec(packed string, metaSize int, spec *driver.Spec) error {
	u := unpacker{rest: packed}
	if metaSize > 0 {
		n := int(u.uint(2))
		spec.Metadata = make(map[string]string, n)
		for range n {
			key := u.text(1)
			spec.Metadata[key] = u.text(4)
		}
	}
	marks := u.byte()
	spec.AttemptsMax = u.int32()
	if marks&markBackoff != 0 {
		spec.Backoff = u.backoff()
	}
	if marks&markTimeout != 0 {
		spec.Timeout = driver.Some(driver.Millis(u.int64()))
	}
	if marks&markTrace != 0 {
		spec.Trace = &driver.Trace{TraceID: u.text(2), SpanID: u.text(2),
			Sampled: marks&markSampled != 0, Delayed: marks&markDelayed != 0}
	}
	if u.rest != "" {
		spec.Payload = []byte(u.rest)
		u.rest = ""
	}
	return u.err()
}

// appendBackoff appends a backoff; nothing if there is none.
func appendBackoff(b []byte, backoff *driver.Backoff) []byte {
	if backoff == nil {
		return b
	}
	b = append(b, byte(backoff.Kind))
	b = binary.BigEndian.AppendUint64(b, uint64(backoff.Delay))
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(backoff.Factor))
	b = binary.BigEndian.AppendUint64(b, uint64(backoff.Max))
	return binary.BigEndian.AppendUint64(b, math.Float64bits(backoff.Jitter))
}

func (u *unpacker) backoff() *driver.Backoff {
	return &driver.Backoff{
		Kind: driver.BackoffKind(u.byte()), Delay: driver.Millis(u.int64()),
		Factor: math.Float64frombits(u.uint(8)), Max: driver.Millis(u.int64()),
		Jitter: math.Float64frombits(u.uint(8)),
	}
}

// keepStates are the states of a packed keep, in order.
var keepStates = [...]driver.State{driver.Completed, driver.Failed, driver.Cancelled}

// packKeep packs a keep as lib/keep.lua reads it; nil is empty.
func packKeep(keep *driver.Keep) string {
	if keep == nil {
		return ""
	}
	b := make([]byte, 0, 3*17)
	for _, state := range keepStates {
		retention := keep.For(state)
		marks := byte(0)
		if retention.Count.Set {
			marks |= 1
		}
		if retention.Age.Set {
			marks |= 2
		}
		b = append(b, marks)
		b = binary.BigEndian.AppendUint64(b, uint64(retention.Count.Value))
		b = binary.BigEndian.AppendUint64(b, uint64(retention.Age.Value))
	}
	return string(b)
}

func unpackKeep(packed string) (*driver.Keep, error) {
	if packed == "" {
		return nil, nil
	}
	u := unpacker{rest: packed}
	keep := &driver.Keep{}
	for _, retention := range []*driver.Retention{&keep.Completed, &keep.Failed, &keep.Cancelled} {
		marks := u.byte()
		count, age := u.int64(), driver.Millis(u.int64())
		if marks&1 != 0 {
			retention.Count = driver.Some(count)
		}
		if marks&2 != 0 {
			retention.Age = driver.Some(age)
		}
	}
	return keep, u.err()
}

// packEnvelope packs an envelope: five texts behind two bytes of length each, the key of
// the parent's store first, and the depth. nil is empty.
func packEnvelope(e *driver.Envelope) (string, error) {
	if e == nil {
		return "", nil
	}
	b, err := appendTexts(make([]byte, 0, 64), width2,
		packedText{"parent store key", e.ParentStoreKey}, packedText{"flow name", e.FlowName}, packedText{"flow id", e.FlowID},
		packedText{"run", e.Run}, packedText{"child key", e.ChildKey})
	return string(binary.BigEndian.AppendUint32(b, uint32(e.Depth))), err
}

func unpackEnvelope(packed string) (*driver.Envelope, error) {
	if packed == "" {
		return nil, nil
	}
	u := unpacker{rest: packed}
	e := &driver.Envelope{}
	for _, text := range []*string{&e.ParentStoreKey, &e.FlowName, &e.FlowID, &e.Run, &e.ChildKey} {
		*text = u.text(2)
	}
	e.Depth = u.int32()
	return e, u.err()
}
