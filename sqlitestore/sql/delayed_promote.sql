-- Due jobs, earliest first, become waiting.
UPDATE braid_jobs SET state = 1 WHERE job IN
  (SELECT job FROM braid_jobs WHERE state = 2 AND queue = ?1 AND run_at <= ?2 ORDER BY run_at, seq LIMIT ?3)
RETURNING name;
