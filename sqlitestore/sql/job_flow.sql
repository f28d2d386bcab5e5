SELECT flow FROM braid_jobs WHERE id = ?1;
