UPDATE @schedules SET next_run_at = $3::bigint, last_job_id = CASE WHEN $4::text = '' THEN last_job_id ELSE $4::text END
WHERE key = $1::text AND next_run_at = $2::bigint;
