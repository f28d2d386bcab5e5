-- What is still held under a token, in the order in which it was claimed. It looks at the
-- active jobs, of which there are as many as workers run.
SELECT j.id, j.state, j.queue, j.name, j.priority, j.seq, j.attempts_max, j.attempts_made,
       j.stalled_count, j.run_at, j.enqueued_at, j.processed_at, j.locked_by, j.lock_expires_at,
       j.cancel_requested, j.finished_at, j.failed_reason, j.dedupe_key, j.dedupe_ttl, j.settings, j.trace, j.parent,
       j.metadata::text, j.payload, j.exit, f.fail_fast, f.pending, f.completed, f.failed, f.cancelled,
       (octet_length(j.id) + coalesce(octet_length(j.payload), 0) + coalesce(octet_length(j.exit), 0)
         + coalesce(octet_length(j.failed_reason), 0) + coalesce(octet_length(j.metadata::text), 0))::bigint, 0::bigint
FROM @jobs j LEFT JOIN @flows f ON f.flow = j.flow
WHERE j.state = 3 AND j.queue = $1::text AND j.token = $2::text
ORDER BY j.turn LIMIT $3::int;
