package memstore

import "github.com/braidmq/braid/driver"

// workers checks that every worker's record can expire.
func (a *audit) workers(s *Store) {
	s.workers.byID.Scan(func(id string, w driver.WorkerRecord) bool {
		_, ok := s.workers.expiring.Get(workerExpiry{w.ExpiresAt, id})
		a.check(ok && w.ID == id, "worker %q cannot expire", id)
		return true
	})
	a.check(s.workers.expiring.Len() == s.workers.byID.Len(), "%d workers, %d can expire",
		s.workers.byID.Len(), s.workers.expiring.Len())
}

// stats checks that every count lies under its minute.
func (a *audit) stats(s *Store) {
	s.stats.minutes.Scan(func(at driver.Time, known minuteStats) bool {
		a.check(len(known) > 0 && at == at.Minute(), "the minute %d has no stats, or is none", at)
		for key, sum := range known {
			a.check(sum.Minute == at && sum.Queue == key.queue && sum.Outcome == key.outcome && sum.Count > 0,
				"a stat of %q, %v at %d lies elsewhere, or counts nothing", sum.Queue, sum.Outcome, at)
		}
		return true
	})
}
