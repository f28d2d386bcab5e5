-- What is still held under a token, in the order in which it was claimed. It looks
-- at the active jobs, of which there are as many as workers run.
SELECT * FROM braid_records WHERE state = 3 AND lock_expires_at IS NOT NULL AND token = ?2 AND queue = ?1
ORDER BY turn LIMIT ?3;
