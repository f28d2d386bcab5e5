UPDATE braid_jobs SET lock_expires_at = ?3 WHERE id = ?1 AND state = 3 AND token = ?2 RETURNING cancel_requested;
