SELECT job, precedence, seq FROM braid_jobs WHERE state = 1 AND queue = ?1 AND name = ?2 ORDER BY precedence, seq LIMIT ?3;
