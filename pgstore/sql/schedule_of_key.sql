SELECT key, job_name, queue, cron, tz, every, payload, metadata::text, priority, attempts_max, settings, overlap, group_name,
       next_run_at, last_job_id
FROM @schedules WHERE key = $1::text;
