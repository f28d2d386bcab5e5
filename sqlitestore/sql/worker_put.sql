INSERT INTO braid_workers (id, expires_at, record) VALUES (?1, ?2, ?3)
ON CONFLICT DO UPDATE SET expires_at = excluded.expires_at, record = excluded.record;
