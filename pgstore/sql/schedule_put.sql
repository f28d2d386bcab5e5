-- With an unchanged cadence the next slot is kept.
INSERT INTO @schedules AS old (key, job_name, queue, cron, tz, every, payload, metadata, priority, attempts_max, settings, overlap,
  group_name, next_run_at, last_job_id)
VALUES ($1::text, $2::text, $3::text, $4::text, $5::text, $6::bigint, $7::text, $8::text::jsonb, $9::int, $10::int, $11::text,
  $12::smallint, $13::text, $14::bigint, '')
ON CONFLICT (key) DO UPDATE SET job_name = excluded.job_name, queue = excluded.queue, cron = excluded.cron, tz = excluded.tz,
  every = excluded.every, payload = excluded.payload, metadata = excluded.metadata, priority = excluded.priority,
  attempts_max = excluded.attempts_max, settings = excluded.settings, overlap = excluded.overlap, group_name = excluded.group_name,
  next_run_at = CASE WHEN (old.cron, old.tz, old.every) = (excluded.cron, excluded.tz, excluded.every)
    THEN old.next_run_at ELSE excluded.next_run_at END
RETURNING next_run_at, last_job_id;
