SELECT record FROM braid_workers WHERE id > ?1 AND expires_at > ?2 ORDER BY id LIMIT ?3;
