UPDATE braid_schedules SET next_run_at = ?3 WHERE key = ?1 AND next_run_at = ?2;
