SELECT id, job, expires_at FROM braid_dedupe WHERE name = ?1 AND key = ?2;
