package redisstore

import (
	"encoding/binary"

	"github.com/braidmq/braid/driver"
)

// The head of a job is what changes of it, and what the scripts need of the rest; it is
// written anew with every change. lua/lib/record.lua reads and writes the same layout:
//
//	state, flags (1 byte each), priority (4), seq, runAt, enqueuedAt (8 each),
//	size of the spec, size of the metadata in it (4 each),
//	name, queue, dedup key, keep (behind 1 byte of length each),
//	envelope, spec, run, latest ledger entry (behind 2)
//
// A spec that is longer than inlineSpec lies in a key of its own, and the one in the
// head is empty.
//
// The run is empty for a job that never ran, else:
//
//	attemptsMade, stalledCount (4 each), length of the ledger (8), marks (1),
//	processedAt, finishedAt, order of the finish, lockExpiresAt (8 each),
//	token, worker, reason (behind 2)
const (
	flagCancel = 1 << iota
	flagDedupeTTL
	flagFlow
)

const (
	markProcessed = 1 << iota
	markFinished
)

// inlineSpec is how many bytes a spec may have to lie in the head: then the job needs
// one key, not two, and each change copies that many bytes more.
const inlineSpec = 200

// recordStrings is how many strings of a reply make a record: id, head, spec, exit,
// manifest.
const recordStrings = 5

// packHeadTail returns the part of a new job's head behind enqueuedAt, and the job's
// spec, if that does not lie in it.
func packHeadTail(spec *driver.Spec, dedupeKey string) (tail, long string) {
	keep := packKeep(spec.Keep)
	packed, metaSize := packSpec(spec)
	size := len(packed)
	if size > inlineSpec {
		packed, long = "", packed
	}
	b := make([]byte, 0, 24+len(spec.Name)+len(spec.Queue)+len(dedupeKey)+len(keep)+len(packed))
	b = binary.BigEndian.AppendUint32(b, uint32(size))
	b = binary.BigEndian.AppendUint32(b, uint32(metaSize))
	for _, text := range []string{spec.Name, spec.Queue, dedupeKey, keep} {
		b = append(append(b, byte(len(text))), text...)
	}
	b = appendText(b, packEnvelope(spec.Parent))
	b = appendText(b, packed)
	return string(append(b, 0, 0, 0, 0)), long
}

// unpackRecords reads the records of a reply.
func unpackRecords(reply []string) ([]*driver.Job, error) {
	if len(reply)%recordStrings != 0 {
		return nil, errCorrupt
	}
	jobs := make([]*driver.Job, 0, len(reply)/recordStrings)
	for ; len(reply) > 0; reply = reply[recordStrings:] {
		job, err := unpackRecord(reply)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, job)
	}
	return jobs, nil
}

// unpackRecord reads one record, of which the reply's first strings are the parts.
func unpackRecord(reply []string) (*driver.Job, error) {
	job := &driver.Job{ID: reply[0]}
	spec, metaSize, err := unpackHead(reply[1], job)
	if err != nil {
		return nil, err
	}
	if spec == "" {
		spec = reply[2]
	}
	if spec == "" {
		// Its key was lost, by eviction or by hand. The job is shown without what it
		// held, and a run of it fails for want of a payload.
		job.AttemptsMax = 1
	} else if err := unpackSpec(spec, metaSize, &job.Spec); err != nil {
		return nil, err
	}
	if reply[3] != "" {
		job.Exit = []byte(reply[3])
	}
	if reply[4] != "" {
		if job.Flow, err = unpackManifest(reply[4]); err != nil {
			return nil, err
		}
	}
	return job, nil
}

// unpackHead reads a head into the record, and returns the spec, if that lies in it,
// and how many of the spec's bytes are metadata.
func unpackHead(head string, job *driver.Job) (spec string, metaSize int, err error) {
	u := unpacker{rest: head}
	job.State = driver.State(u.byte())
	flags := u.byte()
	job.CancelRequested = flags&flagCancel != 0
	job.DedupeTTL = flags&flagDedupeTTL != 0
	job.Priority = u.int32()
	job.Seq = u.int64()
	job.RunAt, job.EnqueuedAt = u.time(), u.time()
	u.take(4)
	metaSize = int(u.uint(4))
	job.Name, job.Queue, job.DedupeKey = u.text(1), u.text(1), u.text(1)
	if job.Keep, err = unpackKeep(u.text(1)); err != nil {
		return "", 0, err
	}
	if job.Parent, err = unpackEnvelope(u.text(2)); err != nil {
		return "", 0, err
	}
	spec = u.text(2)
	run := u.text(2)
	u.text(2) // the latest ledger entry
	if err := u.err(); err != nil {
		return "", 0, err
	}
	if run == "" {
		return spec, metaSize, nil
	}
	return spec, metaSize, unpackRun(run, job)
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
