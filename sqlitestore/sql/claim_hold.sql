-- Locks the jobs of a JSON list of rows, in its order.
UPDATE braid_jobs SET state = 3, token = ?2, locked_by = ?3, lock_expires_at = ?4, processed_at = ?5, turn = ?6 + e.key
FROM json_each(?1) e WHERE braid_jobs.job = e.value;
