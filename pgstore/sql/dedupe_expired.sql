SELECT 1 FROM @dedupe WHERE expires_at IS NOT NULL AND expires_at <= $1::bigint LIMIT 1;
