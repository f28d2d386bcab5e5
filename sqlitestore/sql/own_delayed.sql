SELECT job, enqueued_at, id, state, queue, name, metadata FROM braid_jobs
WHERE state = 2 AND queue = ?1;
