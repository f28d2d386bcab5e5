DELETE FROM braid_workers WHERE id IN (SELECT id FROM braid_workers WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2);
