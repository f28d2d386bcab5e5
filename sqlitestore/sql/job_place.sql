SELECT state, queue, precedence, seq FROM braid_jobs WHERE id = ?1;
