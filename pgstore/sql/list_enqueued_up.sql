-- Jobs of some queues and names, by the time at which they were enqueued.
SELECT e.* FROM unnest($4::text[], $5::text[]) AS l (queue, name) CROSS JOIN LATERAL (
  SELECT enqueued_at AS at, id, state, queue, name, metadata::text FROM @jobs
  WHERE queue = l.queue AND name = l.name AND ledger >= 0 AND enqueued_at >= $1::bigint AND (enqueued_at, id) > ($1::bigint, $2::text)
  ORDER BY enqueued_at, id LIMIT $3::int
) AS e
ORDER BY e.at, e.id LIMIT $3::int;
