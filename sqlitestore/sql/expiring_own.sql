-- Finished jobs in the order in which their own keep lets them go.
SELECT job, id, expires_at FROM braid_jobs
WHERE expires_at IS NOT NULL AND expires_at <= ?1 AND (expires_at, id) > (?2, ?3) ORDER BY expires_at, id LIMIT ?4;
