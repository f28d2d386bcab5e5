-- The delayed job of a queue that falls due first, if that is before a time.
SELECT id FROM @jobs WHERE state = 2 AND queue = $1::text AND run_at < $2::bigint ORDER BY run_at, seq LIMIT 1;
