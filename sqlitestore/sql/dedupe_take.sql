-- What stood under the key holds nothing any more.
INSERT INTO braid_dedupe (name, key, id, job, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT DO UPDATE SET id = excluded.id, job = excluded.job, expires_at = excluded.expires_at;
