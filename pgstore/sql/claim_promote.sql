-- Due jobs, earliest first, become waiting.
WITH due AS MATERIALIZED (
  SELECT id FROM @jobs WHERE state = 2 AND queue = $1::text AND run_at <= $2::bigint
  ORDER BY run_at, seq LIMIT $3::int FOR UPDATE SKIP LOCKED
), promoted AS (
  UPDATE @jobs SET state = 1 WHERE id = ANY(ARRAY(SELECT id FROM due)) RETURNING name
), counted AS (
  INSERT INTO @changes (queue, name, state, jobs)
  SELECT $1::text, name, 1, count(*) FROM promoted GROUP BY name UNION ALL SELECT $1::text, name, 2, -count(*) FROM promoted GROUP BY name
)
SELECT count(*)::int FROM promoted;
