-- What a transition needs to know of jobs. Rows of the user's may reference jobs, so a job
-- is locked as a key only where it is deleted.
SELECT id, queue, name, state, seq, attempts_made, stalled_count, ledger, run_at, processed_at, token, locked_by,
       cancel_requested, staged, finished_at, turn, owing, dedupe_key, dedupe_ttl, flow, settings, parent
FROM @jobs WHERE id = ANY($1::text[]) ORDER BY id FOR NO KEY UPDATE;
