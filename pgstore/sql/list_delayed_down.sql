-- The delayed jobs of a queue, by the time at which they are to run.
SELECT run_at AS at, id, state, queue, name, metadata::text FROM @jobs
WHERE state = 2 AND ledger >= 0 AND queue = $4::text AND run_at <= $1::bigint AND (run_at, id) < ($1::bigint, $2::text)
ORDER BY run_at DESC, id DESC LIMIT $3::int;
