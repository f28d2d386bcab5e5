-- Retention gets a finished parent whose cascades are paid.
UPDATE braid_jobs SET owing = 0, expires_at = ?2 WHERE job = ?1;
