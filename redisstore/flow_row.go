package redisstore

import (
	"encoding/binary"

	"github.com/braidmq/braid/driver"
)

// A dependency row is packed as status, whether it is cascaded (1 byte each), the
// child's job id (behind 2 bytes of length), the store key and the job's name together
// (behind 2; within it each behind 2), the failed reason (behind 4), and the exit.
// flow_record.lua and lib/flow_row.lua read and write the same layout.

// packRow returns the row of a child that is being staged.
func packRow(c *driver.StagedChild) string {
	b := make([]byte, 0, 16+len(c.Request.ID)+len(c.StoreKey)+len(c.Request.Name))
	b = append(b, byte(driver.ChildPending), 0)
	b = appendText(b, c.Request.ID)
	b = binary.BigEndian.AppendUint16(b, uint16(4+len(c.StoreKey)+len(c.Request.Name)))
	b = appendText(b, c.StoreKey)
	b = appendText(b, c.Request.Name)
	return string(append(b, 0, 0, 0, 0))
}

// packReport returns what a row begins with when the report has applied to it, and what it
// ends with. Without a job id, which is then not checked, it begins with that of the row.
func packReport(r *driver.ChildReport) (begins, ends string) {
	b := make([]byte, 0, 8+len(r.ChildJobID)+len(r.FailedReason)+len(r.Exit))
	b = append(b, byte(r.Outcome), 1)
	if r.ChildJobID != "" {
		b = appendText(b, r.ChildJobID)
	}
	at := len(b)
	b = binary.BigEndian.AppendUint32(b, uint32(len(r.FailedReason)))
	b = append(append(b, r.FailedReason...), r.Exit...)
	packed := string(b)
	return packed[:at], packed[at:]
}

// unpackRow reads a row. In a flow that was settled early, what is pending in it reads
// as cancelled and not cascaded.
func unpackRow(flowID, childKey, packed string, early bool) (driver.Child, error) {
	u := unpacker{rest: packed}
	c := driver.Child{FlowID: flowID, ChildKey: childKey}
	c.Status = driver.ChildStatus(u.byte())
	c.Cascaded = u.byte() != 0
	c.ChildJobID = u.text(2)
	u.take(2)
	c.StoreKey, c.Name = u.text(2), u.text(2)
	c.FailedReason = u.text(4)
	if u.rest != "" {
		c.Exit = []byte(u.rest)
	}
	if u.bad {
		return c, errCorrupt
	}
	if early && c.Status == driver.ChildPending {
		c.Status = driver.ChildCancelled
	}
	return c, nil
}

const (
	markDedupe = 1 << iota
	markDedupeTTL
	markDedupeExtend
	markDedupeReplace
)

// packRequest packs a child's request without its id, which its row has.
func packRequest(r *driver.EnqueueRequest) string {
	spec, metaSize := packSpec(&r.Spec)
	marks, dedupe := byte(0), driver.Dedupe{}
	if r.Dedupe != nil {
		dedupe, marks = *r.Dedupe, markDedupe
		for mark, set := range map[byte]bool{
			markDedupeTTL: dedupe.TTL.Set, markDedupeExtend: dedupe.Extend, markDedupeReplace: dedupe.Replace,
		} {
			if set {
				marks |= mark
			}
		}
	}
	b := make([]byte, 0, 128+len(spec))
	b = append(b, marks)
	b = appendText(b, dedupe.Key)
	b = binary.BigEndian.AppendUint64(b, uint64(dedupe.TTL.Value))
	b = binary.BigEndian.AppendUint64(b, uint64(r.Delay))
	b = appendSpecHead(b, &r.Spec)
	b = binary.BigEndian.AppendUint32(b, uint32(metaSize))
	return string(append(b, spec...))
}

func unpackRequest(id, packed string) (*driver.EnqueueRequest, error) {
	u := unpacker{rest: packed}
	r := &driver.EnqueueRequest{ID: id}
	marks, key, ttl := u.byte(), u.text(2), driver.Millis(u.int64())
	if marks&markDedupe != 0 {
		r.Dedupe = &driver.Dedupe{Key: key, Extend: marks&markDedupeExtend != 0, Replace: marks&markDedupeReplace != 0}
		if marks&markDedupeTTL != 0 {
			r.Dedupe.TTL = driver.Some(ttl)
		}
	}
	r.Delay = driver.Millis(u.int64())
	if err := u.specHead(&r.Spec); err != nil {
		return nil, err
	}
	metaSize := int(u.uint(4))
	if u.bad {
		return nil, errCorrupt
	}
	return r, unpackSpec(u.rest, metaSize, &r.Spec)
}

// appendSpecHead appends what a spec holds besides what packSpec packs.
func appendSpecHead(b []byte, spec *driver.Spec) []byte {
	b = appendText(b, spec.Name)
	b = appendText(b, spec.Queue)
	b = binary.BigEndian.AppendUint32(b, uint32(spec.Priority))
	b = appendText(b, packKeep(spec.Keep))
	return appendText(b, packEnvelope(spec.Parent))
}

// specHead reads what appendSpecHead wrote.
func (u *unpacker) specHead(spec *driver.Spec) (err error) {
	spec.Name, spec.Queue, spec.Priority = u.text(2), u.text(2), u.int32()
	if spec.Keep, err = unpackKeep(u.text(2)); err != nil {
		return err
	}
	spec.Parent, err = unpackEnvelope(u.text(2))
	return err
}
