-- Locks the best waiting jobs of some names: of each name's own order the first $4, merged,
-- those that nobody else is at, and of those what fits into $9 bytes; $10 lets the first
-- one pass whatever its size. A last row without id tells that candidates are left.
--
-- Candidates are those of the names $2 in ranges of priorities $11 to $12, those of the names
-- $13 and priorities $14 whose seq is at least $15, and those of the ids $16.
--
-- Rows are looked up again by where they lie, which is quicker than by id; one that has
-- moved meanwhile was claimed by another, and is no candidate any more.
WITH candidates AS MATERIALIZED (
  SELECT c.* FROM (
    SELECT r.* FROM unnest($2::text[], $11::int[], $12::int[]) AS n (name, low, high) CROSS JOIN LATERAL (
      SELECT ctid AS at, id, priority, seq FROM @jobs
      WHERE state = 1 AND queue = $1::text AND name = n.name AND priority BETWEEN n.low AND n.high
      ORDER BY priority DESC, seq LIMIT $4::int
    ) AS r
    UNION ALL
    SELECT r.* FROM unnest($13::text[], $14::int[], $15::bigint[]) AS n (name, priority, seq) CROSS JOIN LATERAL (
      SELECT ctid AS at, id, priority, seq FROM @jobs
      WHERE state = 1 AND queue = $1::text AND name = n.name AND priority = n.priority AND seq >= n.seq
      ORDER BY seq LIMIT $4::int
    ) AS r
    UNION ALL
    SELECT j.ctid, j.id, j.priority, j.seq FROM @jobs j
    WHERE j.id = ANY($16::text[]) AND j.state + 0 = 1
      AND EXISTS (SELECT 1 FROM unnest($13::text[], $14::int[], $15::bigint[]) AS n (name, priority, seq)
        WHERE n.name = j.name AND n.priority = j.priority AND j.seq < n.seq)
  ) AS c
  WHERE NOT EXISTS (SELECT 1 FROM @paused WHERE queue = $1::text)
  ORDER BY c.priority DESC, c.seq LIMIT $4::int
), locked AS MATERIALIZED (
  SELECT j.ctid AS at, j.priority, j.seq, (octet_length(j.id) + coalesce(octet_length(j.payload), 0) + coalesce(octet_length(j.exit), 0)
         + coalesce(octet_length(j.failed_reason), 0) + coalesce(octet_length(j.metadata::text), 0))::bigint AS size
  FROM candidates c JOIN @jobs j ON j.ctid = c.at AND j.id = c.id
  WHERE j.state + 0 = 1
  ORDER BY c.priority DESC, c.seq LIMIT $3::int FOR UPDATE OF j SKIP LOCKED
), sized AS MATERIALIZED (
  SELECT at, size, sum(size) OVER best AS total, row_number() OVER best AS place
  FROM locked WINDOW best AS (ORDER BY priority DESC, seq)
), taken AS MATERIALIZED (
  SELECT at, size, place, nextval(@'numbers') AS turn FROM sized WHERE total <= $9::bigint OR (place = 1 AND $10::boolean)
), held AS (
  UPDATE @jobs j SET state = 3, token = $5::text, locked_by = $6::text, processed_at = $7::bigint, lock_expires_at = $8::bigint, turn = t.turn
  FROM taken t WHERE j.ctid = t.at
  RETURNING j.*, t.size AS row_size, t.place
), counted AS (
  INSERT INTO @changes (queue, name, state, jobs)
  SELECT $1::text, name, 3, count(*) FROM held GROUP BY name UNION ALL SELECT $1::text, name, 1, -count(*) FROM held GROUP BY name
)
SELECT r.* FROM (
  SELECT j.id, j.state, j.queue, j.name, j.priority, j.seq, j.attempts_max, j.attempts_made,
       j.stalled_count, j.run_at, j.enqueued_at, j.processed_at, j.locked_by, j.lock_expires_at,
       j.cancel_requested, j.finished_at, j.failed_reason, j.dedupe_key, j.dedupe_ttl, j.settings, j.trace, j.parent,
       j.metadata::text AS metadata_text, j.payload, j.exit, f.fail_fast, f.pending, f.completed, f.failed, f.cancelled, j.row_size, j.place
  FROM held j LEFT JOIN @flows f ON f.flow = j.flow
  UNION ALL
  SELECT ''::text, 0::smallint, ''::text, ''::text, 0::int, 0::bigint, 0::int, 0::int, 0::int, 0::bigint, 0::bigint, NULL, NULL, NULL, false, NULL, NULL, NULL, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       0::bigint, 9223372036854775807
  WHERE (SELECT count(*) FROM candidates) > (SELECT count(*) FROM taken)
) AS r
ORDER BY r.place;
