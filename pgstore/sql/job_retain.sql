-- Retention gets a finished parent whose cascades are paid.
UPDATE @jobs SET owing = false, expires_at = $2::bigint WHERE id = $1::text;
