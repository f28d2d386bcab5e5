-- A window outlives its job.
UPDATE braid_dedupe SET job = NULL WHERE name = ?1 AND key = ?2 AND job = ?3;
