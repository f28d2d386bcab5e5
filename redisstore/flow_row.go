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
func packRow(c *driver.StagedChild) (string, error) {
	b := make([]byte, 0, 16+len(c.Request.ID)+len(c.StoreKey)+len(c.Request.Name))
	b = append(b, byte(driver.ChildPending), 0)
	b, err := appendTexts(b, width2, packedText{"id", c.Request.ID})
	if err != nil {
		return "", err
	}
	if b, err = appendLength(b, "store key", 4+len(c.StoreKey)+len(c.Request.Name), width2); err != nil {
		return "", err
	}
	b, err = appendTexts(b, width2, packedText{"store key", c.StoreKey}, packedText{"job name", c.Request.Name})
	return string(append(b, 0, 0, 0, 0)), err
}

// packReport returns what a row begins with when the report has applied to it, and what it
// ends with. Without a job id, which is then not checked, it begins with that of the row.
func packReport(r *driver.ChildReport) (begins, ends string, err error) {
	b := make([]byte, 0, 8+len(r.ChildJobID)+len(r.FailedReason)+len(r.Exit))
	b = append(b, byte(r.Outcome), 1)
	if r.ChildJobID != "" {
		if b, err = appendTexts(b, width2, packedText{"child job id", r.ChildJobID}); err != nil {
			return "", "", err
		}
	}
	at := len(b)
	if b, err = appendTexts(b, width4, packedText{"failed reason", r.FailedReason}); err != nil {
		return "", "", err
	}
	packed := string(append(b, r.Exit...))
	return packed[:at], packed[at:], nil
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
func packRequest(r *driver.EnqueueRequest) (string, error) {
	spec, metaSize, err := packSpec(&r.Spec)
	if err != nil {
		return "", err
	}
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
	if b, err = appendTexts(b, width2, packedText{"dedupe key", dedupe.Key}); err != nil {
		return "", err
	}
	b = binary.BigEndian.AppendUint64(b, uint64(dedupe.TTL.Value))
	b = binary.BigEndian.AppendUint64(b, uint64(r.Delay))
	if b, err = appendSpecHead(b, &r.Spec); err != nil {
		return "", err
	}
	b = binary.BigEndian.AppendUint32(b, uint32(metaSize))
	return string(append(b, spec...)), nil
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
func appendSpecHead(b []byte, spec *driver.Spec) ([]byte, error) {
	b, err := appendTexts(b, width2, packedText{"job name", spec.Name}, packedText{"queue", spec.Queue})
	if err != nil {
		return b, err
	}
	b = binary.BigEndian.AppendUint32(b, uint32(spec.Priority))
	envelope, err := packEnvelope(spec.Parent)
	if err != nil {
		return b, err
	}
	return appendTexts(b, width2, packedText{"keep", packKeep(spec.Keep)}, packedText{"envelope", envelope})
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
