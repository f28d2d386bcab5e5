-- Deletes finished jobs that are older than their own keep or the ceilings $2, $3, $4 of
-- their states allow, at most $5.
WITH candidates AS MATERIALIZED (
  SELECT * FROM (
    SELECT id, queue, name, state, flow, dedupe_key, expires_at - $1::bigint AS at FROM @jobs
    WHERE expires_at IS NOT NULL AND expires_at <= $1::bigint ORDER BY expires_at, id LIMIT $5::int + 1 FOR UPDATE SKIP LOCKED
  ) AS own UNION ALL
  (
    SELECT j.* FROM (
      SELECT DISTINCT name FROM (
        SELECT name FROM @counts WHERE $2::bigint IS NOT NULL AND state = 5 UNION ALL
        SELECT name FROM @changes WHERE $2::bigint IS NOT NULL AND state = 5
      ) AS all_names
    ) AS g CROSS JOIN LATERAL (
      SELECT id, queue, name, state, flow, dedupe_key, finished_at - $2::bigint AS at FROM @jobs
      WHERE state >= 5 AND name = g.name AND state = 5 AND owing = false AND finished_at <= $2::bigint
      ORDER BY finished_at, turn LIMIT $5::int + 1 FOR UPDATE SKIP LOCKED
    ) AS j
  ) UNION ALL
  (
    SELECT j.* FROM (
      SELECT DISTINCT name FROM (
        SELECT name FROM @counts WHERE $3::bigint IS NOT NULL AND state = 6 UNION ALL
        SELECT name FROM @changes WHERE $3::bigint IS NOT NULL AND state = 6
      ) AS all_names
    ) AS g CROSS JOIN LATERAL (
      SELECT id, queue, name, state, flow, dedupe_key, finished_at - $3::bigint AS at FROM @jobs
      WHERE state >= 5 AND name = g.name AND state = 6 AND owing = false AND finished_at <= $3::bigint
      ORDER BY finished_at, turn LIMIT $5::int + 1 FOR UPDATE SKIP LOCKED
    ) AS j
  ) UNION ALL
  (
    SELECT j.* FROM (
      SELECT DISTINCT name FROM (
        SELECT name FROM @counts WHERE $4::bigint IS NOT NULL AND state = 7 UNION ALL
        SELECT name FROM @changes WHERE $4::bigint IS NOT NULL AND state = 7
      ) AS all_names
    ) AS g CROSS JOIN LATERAL (
      SELECT id, queue, name, state, flow, dedupe_key, finished_at - $4::bigint AS at FROM @jobs
      WHERE state >= 5 AND name = g.name AND state = 7 AND owing = false AND finished_at <= $4::bigint
      ORDER BY finished_at, turn LIMIT $5::int + 1 FOR UPDATE SKIP LOCKED
    ) AS j
  )
), old AS MATERIALIZED (
  SELECT c.*, row_number() OVER (ORDER BY c.at, c.id) AS n FROM (
    SELECT DISTINCT ON (id) * FROM candidates ORDER BY id, at
  ) AS c
), gone AS MATERIALIZED (
  SELECT * FROM old WHERE n <= $5::int
), jobs AS (
  DELETE FROM @jobs WHERE id = ANY(ARRAY(SELECT id FROM gone))
), attempts AS (
  DELETE FROM @attempts WHERE id = ANY(ARRAY(SELECT id FROM gone))
), windows AS (
  UPDATE @dedupe d SET owned = false FROM (
    SELECT d.name, d.key, d.id FROM gone g JOIN @dedupe d ON d.name = g.name AND d.key = g.dedupe_key AND d.id = g.id
    FOR UPDATE OF d SKIP LOCKED
  ) AS k
  WHERE d.name = k.name AND d.key = k.key AND d.id = k.id
), flows AS (
  UPDATE @flows SET standing = 4, asked_turn = NULL, turn = nextval(@'numbers')
  WHERE flow = ANY(ARRAY(SELECT flow FROM gone WHERE flow IS NOT NULL))
), counted AS (
  INSERT INTO @changes (queue, name, state, jobs) SELECT queue, name, state, -count(*) FROM gone GROUP BY 1, 2, 3
)
SELECT count(*)::int, EXISTS (SELECT 1 FROM old WHERE n > $5::int) FROM gone;
