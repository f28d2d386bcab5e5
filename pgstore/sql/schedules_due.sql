SELECT key, job_name, queue, cron, tz, every, payload, metadata::text, priority, attempts_max, settings, overlap, group_name,
       next_run_at, last_job_id
FROM @schedules WHERE next_run_at <= $1::bigint AND (next_run_at, key) > ($2::bigint, $3::text)
ORDER BY next_run_at, key LIMIT $4::int;
