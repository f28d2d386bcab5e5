package sqlitestore

import (
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/rowcodec"
)

// The columns of the view braid_records.
const (
	recJob = iota
	recID
	recState
	recQueue
	recName
	recPrecedence
	recSeq
	recAttemptsMax
	recAttemptsMade
	recStalledCount
	recRunAt
	recEnqueuedAt
	recProcessedAt
	recLockedBy
	recLockExpiresAt
	recCancelRequested
	recFinishedAt
	recFailedReason
	recDedupeKey
	recDedupeTTL
	recFlow
	recMetadata
	recSettings
	recTrace
	recParent
	recExit
	recPayload
)

// readJob returns the job of a row of braid_records. flow is the number of its flow,
// whose manifest is still to be read, if it is not 0.
func (s *Store) readJob(r row) (job *driver.Job, flow int64, err error) {
	p, err := s.plans.Plan(r.text(recSettings))
	if err != nil {
		return nil, 0, err
	}
	job = &driver.Job{
		ID: r.text(recID),
		Spec: driver.Spec{
			Name: r.text(recName), Queue: r.text(recQueue), Payload: r.bytes(recPayload),
			Priority: int32(-r.integer(recPrecedence)), AttemptsMax: r.int32(recAttemptsMax),
			Backoff: p.Backoff, Keep: p.Keep, Timeout: p.Timeout,
		},
		State:           r.state(recState),
		Seq:             r.integer(recSeq),
		AttemptsMade:    r.int32(recAttemptsMade),
		StalledCount:    r.int32(recStalledCount),
		CancelRequested: r.flag(recCancelRequested),
		DedupeKey:       r.text(recDedupeKey),
		DedupeTTL:       r.flag(recDedupeTTL),
		RunAt:           r.time(recRunAt),
		EnqueuedAt:      r.time(recEnqueuedAt),
		ProcessedAt:     r.optionalTime(recProcessedAt),
		FinishedAt:      r.optionalTime(recFinishedAt),
		Exit:            r.bytes(recExit),
		FailedReason:    r.text(recFailedReason),
		LockedBy:        r.text(recLockedBy),
		LockExpiresAt:   r.optionalTime(recLockExpiresAt),
	}
	if job.Metadata, err = rowcodec.DecodeMetadata(r.text(recMetadata)); err != nil {
		return nil, 0, err
	}
	if job.Trace, err = rowcodec.DecodeTrace(r.text(recTrace)); err != nil {
		return nil, 0, err
	}
	if job.Parent, err = rowcodec.DecodeEnvelope(r.text(recParent)); err != nil {
		return nil, 0, err
	}
	return job, r.integer(recFlow), nil
}

func (r row) int32(column int) int32 { return int32(r.integer(column)) }

func (r row) state(column int) driver.State { return driver.State(r.integer(column)) }

// page collects records up to a number and a size.
type page struct {
	store *Store
	limit int
	jobs  []*driver.Job
	flows map[*driver.Job]int64
	size  int
}

// add appends the row's job. It reports whether the page had room for it; the first
// always has.
func (p *page) add(r row) (bool, error) {
	if len(p.jobs) >= p.limit {
		return false, nil
	}
	size := 0
	for _, column := range []int{recID, recPayload, recExit, recFailedReason, recMetadata} {
		if text, ok := r[column].(string); ok {
			size += len(text)
		}
	}
	if len(p.jobs) > 0 && p.size+size > driver.ChunkBytes {
		return false, nil
	}
	job, flow, err := p.store.readJob(r)
	if err != nil {
		return false, err
	}
	p.jobs = append(p.jobs, job)
	p.size += size
	if flow != 0 {
		if p.flows == nil {
			p.flows = map[*driver.Job]int64{}
		}
		p.flows[job] = flow
	}
	return true, nil
}

// complete adds the manifests.
func (p *page) complete(on session) error {
	for job, flow := range p.flows {
		manifest, err := readManifest(on, flow)
		if err != nil {
			return err
		}
		job.Flow = manifest
	}
	return nil
}

func readManifest(on session, flow int64) (*driver.Manifest, error) {
	m := &driver.Manifest{}
	_, err := first(on, "flow_manifest", func(r row) {
		*m = driver.Manifest{FailFast: r.flag(0), Pending: r.integer(1), Completed: r.integer(2),
			Failed: r.integer(3), Cancelled: r.integer(4)}
	}, flow)
	return m, err
}
