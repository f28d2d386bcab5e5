-- Due jobs, earliest first, become waiting, unless they fell due before $5. Returns how many did, whether more are due,
-- when the next one falls due, whether the queue is paused, and, with $4, the names and ids
-- of those that did.
WITH due AS MATERIALIZED (
  SELECT id, row_number() OVER () AS n FROM (
    SELECT id FROM @jobs WHERE state = 2 AND queue = $1::text AND run_at <= $2::bigint AND run_at >= $5::bigint
    ORDER BY run_at, seq LIMIT $3::int + 1 FOR UPDATE SKIP LOCKED
  ) AS d
), promoted AS (
  UPDATE @jobs SET state = 1 WHERE id = ANY(ARRAY(SELECT id FROM due WHERE n <= $3::int)) RETURNING name, id
), counted AS (
  INSERT INTO @changes (queue, name, state, jobs)
  SELECT $1::text, name, 1, count(*) FROM promoted GROUP BY name UNION ALL SELECT $1::text, name, 2, -count(*) FROM promoted GROUP BY name
)
SELECT (SELECT count(*)::int FROM promoted), EXISTS (SELECT 1 FROM due WHERE n > $3::int),
       (SELECT run_at FROM @jobs WHERE state = 2 AND queue = $1::text AND run_at > $2::bigint ORDER BY run_at, seq LIMIT 1),
       EXISTS (SELECT 1 FROM @paused WHERE queue = $1::text),
       ARRAY(SELECT name FROM promoted WHERE $4::boolean), ARRAY(SELECT id FROM promoted WHERE $4::boolean);
