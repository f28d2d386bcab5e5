-- Jobs by id, in that order, as callers see them.
SELECT j.id, j.state, j.queue, j.name, j.priority, j.seq, j.attempts_max, j.attempts_made,
       j.stalled_count, j.run_at, j.enqueued_at, j.processed_at, j.locked_by, j.lock_expires_at,
       j.cancel_requested, j.finished_at, j.failed_reason, j.dedupe_key, j.dedupe_ttl, j.settings, j.trace, j.parent,
       j.metadata::text, j.payload, j.exit, f.fail_fast, f.pending, f.completed, f.failed, f.cancelled,
       u.ord::int
FROM unnest($1::text[]) WITH ORDINALITY AS u (id, ord) JOIN @jobs j ON j.id = u.id LEFT JOIN @flows f ON f.flow = j.flow
ORDER BY u.ord;
