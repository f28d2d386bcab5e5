-- Outcomes for one process.
SELECT watch, listener, id, state, exit, failed_reason, attempts_made FROM @watches WHERE listener = $1::text AND ended_at IS NOT NULL;
