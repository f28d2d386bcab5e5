-- What a watcher of the job's end is told.
SELECT state, exit, failed_reason, attempts_made FROM braid_jobs WHERE id = ?1;
