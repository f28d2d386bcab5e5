-- The finished jobs of a name and state, by the time at which they finished.
SELECT job, finished_at, id, state, queue, name, metadata FROM braid_jobs
WHERE state >= 5 AND name = ?4 AND state = ?5 AND owing = ?6 AND (finished_at, id) < (?1, ?2)
ORDER BY finished_at DESC, id DESC LIMIT ?3;
