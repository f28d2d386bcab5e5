package redisstore

import (
	"encoding/binary"
	"strconv"

	"github.com/braidmq/braid/driver"
)

// The head of a job is what changes of it, and what the scripts need of the rest; it is
// written anew with every change. lua/lib/head.lua and record.lua know the same layout:
//
//	state, flags (1 byte each), priority (4), seq, runAt, enqueuedAt (8 each),
//	run (behind 2 bytes of length), if its flag is set,
//	size of the spec, size of the metadata in it (4 each),
//	name, queue, dedup key, keep (behind 1 byte of length each),
//	envelope (behind 2), spec (up to the end)
//
// A spec that is longer than inlineSpec lies in a key of its own, and the one in the
// head is empty.
//
// The run is missing from a job that never ran, else:
//
//	attemptsMade, stalledCount (4 each), length of the ledger (8), marks (1),
//	processedAt, finishedAt, order of the finish, lockExpiresAt (8 each),
//	token, worker, reason, latest ledger entry (behind 2)
const (
	flagCancel = 1 << iota
	flagDedupeTTL
	flagFlow
	flagRetained // retention has the job
	flagStaged   // its run has staged children
	flagRan      // there is a run
	flagBound    // there is a dedup key, a keep or an envelope
	flagApart    // the spec lies in a key of its own
)

const (
	markProcessed = 1 << iota
	markFinished
)

// inlineSpec is how many bytes a spec may have to lie in the head: then the job needs
// one key, not two, and each change copies that many bytes more.
const inlineSpec = 200

// appendHeadTail appends the part of a new job's head behind enqueuedAt. The spec is part
// of it unless that lies apart.
func appendHeadTail(b []byte, spec *driver.Spec, dedupeKey string, packed []byte, metaSize int) ([]byte, error) {
	b, err := appendLength(b, "payload with metadata", len(packed), width4)
	if err != nil {
		return b, err
	}
	b = binary.BigEndian.AppendUint32(b, uint32(metaSize))
	b, err = appendTexts(b, width1, packedText{"job name", spec.Name}, packedText{"queue", spec.Queue},
		packedText{"dedupe key", dedupeKey}, packedText{"keep", packKeep(spec.Keep)})
	if err != nil {
		return b, err
	}
	envelope, err := packEnvelope(spec.Parent)
	if err != nil {
		return b, err
	}
	if b, err = appendTexts(b, width2, packedText{"envelope", envelope}); err != nil {
		return b, err
	}
	if len(packed) > inlineSpec {
		return b, nil
	}
	return append(b, packed...), nil
}

// unpackRecords reads the records of a reply, as lib/parts.lua lays them out.
func unpackRecords(reply []string) ([]*driver.Job, error) {
	if len(reply) == 0 {
		return nil, errCorrupt
	}
	n, err := strconv.Atoi(reply[0])
	if err != nil || n < 0 || len(reply) < 1+2*n || (len(reply)-1-2*n)%3 != 0 {
		return nil, errCorrupt
	}
	heads, parts := reply[1:1+2*n], reply[1+2*n:]
	records := make([]driver.Job, n)
	jobs := make([]*driver.Job, n)
	apart := make([]specPlace, n)
	for i := range jobs {
		jobs[i] = &records[i]
		jobs[i].ID = heads[2*i]
		if apart[i], err = unpackHead(heads[2*i+1], jobs[i]); err != nil {
			return nil, err
		}
	}
	for ; len(parts) > 0; parts = parts[3:] {
		i, err := strconv.Atoi(parts[0])
		if err != nil || i < 0 || i >= n {
			return nil, errCorrupt
		}
		if err := unpackPart(jobs[i], &apart[i], parts[1], parts[2]); err != nil {
			return nil, err
		}
	}
	for i, place := range apart {
		if place.lost() {
			// Its key was lost, by eviction or by hand. The job is shown without what it
			// held, and a run of it fails for want of a payload.
			jobs[i].AttemptsMax = 1
		}
	}
	return jobs, nil
}

// specPlace tells about a spec that lies apart from its head, and was not read yet.
type specPlace struct {
	apart    bool
	metaSize int
}

func (p specPlace) lost() bool { return p.apart }

// unpackPart reads a further part of a record.
func unpackPart(job *driver.Job, spec *specPlace, kind, part string) (err error) {
	switch kind {
	case "s":
		spec.apart = false
		return unpackSpec(part, spec.metaSize, &job.Spec)
	case "x":
		job.Exit = []byte(part)
	case "m":
		job.Flow, err = unpackManifest(part)
	default:
		err = errCorrupt
	}
	return err
}

// unpackHead reads a head into the record, with the spec if that lies in it.
func unpackHead(head string, job *driver.Job) (specPlace, error) {
	u := unpacker{rest: head}
	job.State = driver.State(u.byte())
	flags := u.byte()
	job.CancelRequested = flags&flagCancel != 0
	job.DedupeTTL = flags&flagDedupeTTL != 0
	job.Priority = u.int32()
	job.Seq = u.int64()
	job.RunAt, job.EnqueuedAt = u.time(), u.time()
	if flags&flagRan != 0 {
		if err := unpackRun(u.text(2), job); err != nil {
			return specPlace{}, err
		}
	}
	u.take(4)
	metaSize := int(u.uint(4))
	job.Name, job.Queue, job.DedupeKey = u.text(1), u.text(1), u.text(1)
	var err error
	if job.Keep, err = unpackKeep(u.text(1)); err != nil {
		return specPlace{}, err
	}
	if job.Parent, err = unpackEnvelope(u.text(2)); err != nil {
		return specPlace{}, err
	}
	if u.bad {
		return specPlace{}, errCorrupt
	}
	if u.rest == "" {
		return specPlace{apart: true, metaSize: metaSize}, nil
	}
	return specPlace{}, unpackSpec(u.rest, metaSize, &job.Spec)
}

func unpackRun(run string, job *driver.Job) error {
	u := unpacker{rest: run}
	job.AttemptsMade, job.StalledCount = u.int32(), u.int32()
	u.take(8)
	marks := u.byte()
	processed, finished := u.time(), u.time()
	u.take(8)
	lock := u.time()
	u.text(2) // the token
	job.LockedBy = u.text(2)
	job.FailedReason = u.text(2)
	u.text(2) // the latest ledger entry
	if marks&markProcessed != 0 {
		job.ProcessedAt = driver.Some(processed)
	}
	if marks&markFinished != 0 {
		job.FinishedAt = driver.Some(finished)
	}
	if job.State == driver.Active {
		job.LockExpiresAt = driver.Some(lock)
	}
	return u.err()
}
