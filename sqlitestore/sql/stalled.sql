SELECT job FROM braid_jobs WHERE state = 3 AND lock_expires_at <= ?1 ORDER BY lock_expires_at, id LIMIT ?2;
