-- As jobs_read, as many as fit into $2 bytes; the first one always does.
WITH sized AS MATERIALIZED (
  SELECT u.id, u.ord, sum(octet_length(j.id) + coalesce(octet_length(j.payload), 0) + coalesce(octet_length(j.exit), 0)
         + coalesce(octet_length(j.failed_reason), 0) + coalesce(octet_length(j.metadata::text), 0)) OVER (ORDER BY u.ord) AS total
  FROM unnest($1::text[]) WITH ORDINALITY AS u (id, ord) JOIN @jobs j ON j.id = u.id
)
SELECT j.id, j.state, j.queue, j.name, j.priority, j.seq, j.attempts_max, j.attempts_made,
       j.stalled_count, j.run_at, j.enqueued_at, j.processed_at, j.locked_by, j.lock_expires_at,
       j.cancel_requested, j.finished_at, j.failed_reason, j.dedupe_key, j.dedupe_ttl, j.settings, j.trace, j.parent,
       j.metadata::text, j.payload, j.exit, f.fail_fast, f.pending, f.completed, f.failed, f.cancelled,
       u.ord::int
FROM sized u JOIN @jobs j ON j.id = u.id LEFT JOIN @flows f ON f.flow = j.flow
WHERE u.total <= $2::bigint OR u.ord = 1
ORDER BY u.ord;
