-- A window begins again.
UPDATE braid_dedupe SET expires_at = ?3 WHERE name = ?1 AND key = ?2;
