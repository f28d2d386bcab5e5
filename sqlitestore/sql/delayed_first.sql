SELECT run_at FROM braid_jobs WHERE state = 2 AND queue = ?1 ORDER BY run_at LIMIT 1;
