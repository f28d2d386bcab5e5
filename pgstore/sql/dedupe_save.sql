UPDATE @dedupe d SET id = u.id, expires_at = u.expires_at, owned = u.owned
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::boolean[]) AS u (name, key, id, expires_at, owned)
WHERE d.name = u.name AND d.key = u.key;
