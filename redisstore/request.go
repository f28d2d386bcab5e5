package redisstore

import (
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/braidmq/braid/driver"
)

// shape is what many jobs of a batch have in common: of a request, it is what
// lib/insert.lua says.
type shape struct {
	name, queue string
	priority    int32
	runAt       driver.Time
	state       driver.State
	flags       byte
}

// shapeStrings is how many strings a shape is, requestStrings how many a request is
// besides.
const (
	shapeStrings   = 5
	requestStrings = 5
)

// shapeOf returns the shape of a request, but for what its packed form decides.
func shapeOf(now driver.Time, req *driver.EnqueueRequest) shape {
	sh := shape{name: req.Name, queue: req.Queue, priority: req.Priority, runAt: now, state: driver.Waiting}
	if req.Delay > 0 {
		sh.state, sh.runAt = driver.Delayed, now.Add(req.Delay)
	}
	if req.Dedupe != nil && req.Dedupe.TTL.Set {
		sh.flags |= flagDedupeTTL
	}
	if req.Dedupe != nil || req.Keep != nil || req.Parent != nil {
		sh.flags |= flagBound
	}
	return sh
}

func (sh *shape) strings() []any {
	core := binary.BigEndian.AppendUint32([]byte{byte(sh.state), sh.flags}, uint32(sh.priority))
	return []any{sh.name, sh.queue, strconv.FormatInt(-int64(sh.priority), 10), core, packTime(sh.runAt)}
}

// requestPacker composes the strings of lib/insert.lua for requests.
type requestPacker struct {
	shapes []shape
	texts  []string // for each job: shape, id, tail, spec, dedupe
	last   int      // the number of the latest shape

	// The tails of all jobs, one behind the other, and where each ends: so they are one
	// string, not many.
	tails []byte
	ends  []int
	spec  []byte // scratch
}

// add packs a request. The mark stands before the number of its shape. After an error the
// packer is of no use.
func (p *requestPacker) add(now driver.Time, req *driver.EnqueueRequest, mark, id string) error {
	sh, dedupeKey, dedupe := shapeOf(now, req), "", ""
	if d := req.Dedupe; d != nil {
		dedupeKey, dedupe = d.Key, packDedupe(now, d)
	}
	var metaSize int
	var err error
	if p.spec, metaSize, err = appendSpec(p.spec[:0], &req.Spec); err != nil {
		return err
	}
	apart := ""
	if len(p.spec) > inlineSpec {
		apart = string(p.spec)
		sh.flags |= flagApart
	}
	if p.tails, err = appendHeadTail(p.tails, &req.Spec, dedupeKey, p.spec, metaSize); err != nil {
		return err
	}
	p.ends = append(p.ends, len(p.tails))
	if len(p.shapes) == 0 || p.shapes[p.last] != sh {
		if p.last = slices.Index(p.shapes, sh); p.last < 0 {
			p.last = len(p.shapes)
			p.shapes = append(p.shapes, sh)
		}
	}
	p.texts = append(p.texts, mark+strconv.Itoa(p.last+1), id, "", apart, dedupe)
	return nil
}

// done returns the strings of all jobs.
func (p *requestPacker) done() []string {
	tails, from := string(p.tails), 0
	for i, end := range p.ends {
		p.texts[requestStrings*i+2] = tails[from:end]
		from = end
	}
	return p.texts
}

// packDedupe packs what a request says of its dedup key: the end of its window, marks, the
// key.
func packDedupe(now driver.Time, d *driver.Dedupe) string {
	marks, ends := byte(0), zeroTime
	if d.TTL.Set {
		marks |= markWindow
		ends = packTime(now.Add(d.TTL.Value))
	}
	if d.Extend {
		marks |= markExtend
	}
	if d.Replace {
		marks |= markReplace
	}
	return ends + string([]byte{marks}) + d.Key
}

// jobArgs composes the strings of lib/insert.lua for one request, its shape first.
func jobArgs(now driver.Time, req *driver.EnqueueRequest) ([]any, error) {
	var p requestPacker
	if err := p.add(now, req, "", ""); err != nil {
		return nil, err
	}
	texts := p.done()
	return append(p.shapes[0].strings(), texts[2], texts[3], texts[4]), nil
}
