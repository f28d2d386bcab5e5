-- As jobs_load, jobs whose lock has run out and that nobody else is at.
SELECT id, queue, name, state, seq, attempts_made, stalled_count, ledger, run_at, processed_at, token, locked_by,
       cancel_requested, staged, finished_at, turn, owing, dedupe_key, dedupe_ttl, flow, settings, parent
FROM @jobs WHERE state = 3 AND lock_expires_at <= $1::bigint ORDER BY lock_expires_at, id LIMIT $2::int FOR UPDATE SKIP LOCKED;
