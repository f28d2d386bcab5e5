UPDATE braid_schedules SET next_run_at = ?2, last_job_id = ?3 WHERE key = ?1;
