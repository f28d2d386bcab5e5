-- Schedules behind a key; empty filters match any.
SELECT key, job_name, queue, cron, tz, every, payload, metadata::text, priority, attempts_max, settings, overlap, group_name,
       next_run_at, last_job_id
FROM @schedules
WHERE key > $1::text AND ($2::text = '' OR job_name = $2::text) AND ($3::text = '' OR queue = $3::text)
  AND (NOT $4::boolean OR group_name = $5::text)
ORDER BY key LIMIT $6::int;
