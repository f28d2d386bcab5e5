INSERT INTO braid_schedules (key, job_name, queue, cron, tz, every, payload, metadata, priority, attempts_max, settings, overlap,
  group_name, next_run_at, last_job_id)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
ON CONFLICT DO UPDATE SET job_name = excluded.job_name, queue = excluded.queue, cron = excluded.cron, tz = excluded.tz,
  every = excluded.every, payload = excluded.payload, metadata = excluded.metadata, priority = excluded.priority,
  attempts_max = excluded.attempts_max, settings = excluded.settings, overlap = excluded.overlap,
  group_name = excluded.group_name, next_run_at = excluded.next_run_at, last_job_id = excluded.last_job_id;
