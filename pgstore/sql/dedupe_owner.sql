-- The job that holds a key.
SELECT id FROM @dedupe WHERE name = $1::text AND key = $2::text AND owned AND (expires_at IS NULL OR expires_at > $3::bigint);
