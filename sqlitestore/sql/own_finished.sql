SELECT job, enqueued_at, id, state, queue, name, metadata FROM braid_jobs
WHERE state >= 5 AND name = ?1 AND state = ?2;
