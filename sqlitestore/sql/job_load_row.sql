-- As job_load, by the row.
SELECT job, id, state, queue, name, attempts_made, stalled_count, ledger, run_at, processed_at, token, locked_by,
       cancel_requested, staged, finished_at, turn, owing, dedupe_key, dedupe_ttl, flow, settings, parent, large, enqueued_at
FROM braid_jobs WHERE job = ?1;
