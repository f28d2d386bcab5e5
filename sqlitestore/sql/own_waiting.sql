SELECT job, enqueued_at, id, state, queue, name, metadata FROM braid_jobs
WHERE state = 1 AND queue = ?1 AND name = ?2;
