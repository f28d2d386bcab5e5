SELECT job, enqueued_at, id, state, queue, name, metadata FROM braid_jobs
WHERE state = 3 AND lock_expires_at IS NOT NULL;
