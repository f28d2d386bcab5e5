DELETE FROM braid_dedupe WHERE (name, key) IN
  (SELECT name, key FROM braid_dedupe WHERE expires_at IS NOT NULL AND expires_at <= ?1 ORDER BY expires_at LIMIT ?2);
