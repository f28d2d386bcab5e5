SELECT 1 FROM braid_dedupe WHERE expires_at IS NOT NULL AND expires_at <= ?1 LIMIT 1;
