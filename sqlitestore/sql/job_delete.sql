DELETE FROM braid_jobs WHERE job = ?1;
