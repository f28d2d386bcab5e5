INSERT INTO @workers (id, expires_at, record) VALUES ($1::text, $2::bigint, $3::text)
ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at, record = excluded.record;
