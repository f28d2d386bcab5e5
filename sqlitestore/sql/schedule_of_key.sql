SELECT key, job_name, queue, cron, tz, every, payload, metadata, priority, attempts_max, settings, overlap, group_name,
       next_run_at, last_job_id
FROM braid_schedules WHERE key = ?1;
