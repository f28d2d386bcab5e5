-- Deletes what bounded trims have left over, at most $1 jobs.
WITH places AS MATERIALIZED (
  SELECT name, state, finished_at, turn FROM @trims FOR UPDATE SKIP LOCKED
), old AS MATERIALIZED (
  SELECT v.*, row_number() OVER () AS n
  FROM places g CROSS JOIN LATERAL (
    SELECT j.id, j.queue, j.name, j.state, j.flow, j.dedupe_key FROM @jobs j
    WHERE j.state >= 5 AND j.name = g.name AND j.state = g.state AND j.owing = false
      AND (j.finished_at, j.turn) < (g.finished_at, g.turn)
    ORDER BY j.finished_at, j.turn LIMIT $1::int + 1 FOR UPDATE SKIP LOCKED
  ) AS v
), gone AS MATERIALIZED (
  SELECT * FROM old WHERE n <= $1::int
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
), finished AS (
  -- Not those before whose place a job is left, be it that somebody else has it.
  DELETE FROM @trims l USING places g
  WHERE l.name = g.name AND l.state = g.state AND l.finished_at = g.finished_at AND l.turn = g.turn AND NOT EXISTS (
    SELECT 1 FROM (
      SELECT j.id FROM @jobs j
      WHERE j.state >= 5 AND j.name = g.name AND j.state = g.state AND j.owing = false
        AND (j.finished_at, j.turn) < (g.finished_at, g.turn)
      ORDER BY j.finished_at, j.turn LIMIT $1::int + 1
    ) AS f WHERE f.id <> ALL(ARRAY(SELECT id FROM gone))
  )
)
SELECT count(*)::int, EXISTS (SELECT 1 FROM old WHERE n > $1::int) FROM gone;
