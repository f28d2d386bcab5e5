SELECT 1 FROM braid_jobs WHERE id = ?1;
