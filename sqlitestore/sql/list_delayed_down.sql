-- The delayed jobs of a queue, by the time at which they are to run.
SELECT job, run_at, id, state, queue, name, metadata FROM braid_jobs
WHERE state = 2 AND queue = ?4 AND (run_at, id) < (?1, ?2)
ORDER BY run_at DESC, id DESC LIMIT ?3;
