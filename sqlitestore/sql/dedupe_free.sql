-- Frees a key without window, if the job still owns it.
DELETE FROM braid_dedupe WHERE name = ?1 AND key = ?2 AND job = ?3 AND expires_at IS NULL;
