-- The jobs of a queue and name, by the time at which they were enqueued.
SELECT job, enqueued_at, id, state, queue, name, metadata FROM braid_jobs
WHERE queue = ?4 AND name = ?5 AND (enqueued_at, id) > (?1, ?2)
ORDER BY enqueued_at, id LIMIT ?3;
