-- A group's jobs in the order in which a ceiling lets them go.
SELECT job, id, finished_at FROM braid_jobs
WHERE state >= 5 AND name = ?5 AND state = ?6 AND owing = 0 AND finished_at <= ?1 AND (finished_at, id) > (?2, ?3)
ORDER BY finished_at, id LIMIT ?4;
