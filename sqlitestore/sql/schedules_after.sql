-- Schedules behind a key; empty filters match any.
SELECT key, job_name, queue, cron, tz, every, payload, metadata, priority, attempts_max, settings, overlap, group_name,
       next_run_at, last_job_id
FROM braid_schedules
WHERE key > ?1 AND (?2 = '' OR job_name = ?2) AND (?3 = '' OR queue = ?3) AND (NOT ?4 OR group_name = ?5)
ORDER BY key LIMIT ?6;
