-- Trims groups of finished jobs: of each, what lies before the place that the number to
-- keep, an age, or a trim that was left over says, at most $6 jobs in all. What is more
-- is left over for the sweep.
WITH groups AS MATERIALIZED (
  SELECT u.ord, u.name, u.state, p.finished_at, p.turn
  FROM unnest($1::text[], $2::smallint[], $3::bigint[], $4::bigint[], $5::bigint[]) WITH ORDINALITY
    AS u (name, state, keep, at, turn, ord)
  CROSS JOIN LATERAL (
    SELECT CASE WHEN u.keep IS NULL THEN 0 ELSE coalesce(sum(CASE WHEN c.state = u.state THEN c.jobs ELSE -c.jobs END), 0) - u.keep END AS surplus
    FROM (
      SELECT state, jobs FROM @counts WHERE u.keep IS NOT NULL AND name = u.name AND state IN (u.state, u.state + 10)
      UNION ALL SELECT state, jobs FROM @changes WHERE u.keep IS NOT NULL AND name = u.name AND state IN (u.state, u.state + 10)
    ) AS c
  ) AS s
  CROSS JOIN LATERAL (
    SELECT b.finished_at, b.turn FROM (
      SELECT u.at AS finished_at, u.turn WHERE u.at IS NOT NULL
      UNION ALL (
        SELECT j.finished_at, j.turn + 1 FROM @jobs j
        WHERE u.keep = 0 AND j.state >= 5 AND j.name = u.name AND j.state = u.state AND j.owing = false
        ORDER BY j.finished_at DESC, j.turn DESC LIMIT 1
      )
      UNION ALL (
        SELECT j.finished_at, j.turn FROM @jobs j
        WHERE u.keep > 0 AND s.surplus > 0 AND s.surplus <= u.keep
          AND j.state >= 5 AND j.name = u.name AND j.state = u.state AND j.owing = false
        ORDER BY j.finished_at, j.turn OFFSET greatest(s.surplus, 0) LIMIT 1
      ) UNION ALL (
        SELECT j.finished_at, j.turn FROM @jobs j
        WHERE u.keep > 0 AND s.surplus > u.keep
          AND j.state >= 5 AND j.name = u.name AND j.state = u.state AND j.owing = false
        ORDER BY j.finished_at DESC, j.turn DESC OFFSET greatest(u.keep - 1, 0) LIMIT 1
      ) UNION ALL SELECT l.finished_at, l.turn FROM @trims l WHERE l.name = u.name AND l.state = u.state
    ) AS b ORDER BY b.finished_at DESC, b.turn DESC LIMIT 1
  ) AS p
), old AS MATERIALIZED (
  SELECT g.ord, g.name, g.state, v.id, v.queue, v.flow, v.dedupe_key, row_number() OVER (ORDER BY g.ord, v.finished_at, v.turn) AS n
  FROM groups g CROSS JOIN LATERAL (
    SELECT j.id, j.queue, j.flow, j.dedupe_key, j.finished_at, j.turn FROM @jobs j
    WHERE j.state >= 5 AND j.name = g.name AND j.state = g.state AND j.owing = false
      AND (j.finished_at, j.turn) < (g.finished_at, g.turn)
    ORDER BY j.finished_at, j.turn LIMIT $6::int + 1 FOR UPDATE SKIP LOCKED
  ) AS v
), gone AS MATERIALIZED (
  SELECT * FROM old WHERE n <= $6::int
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
), rest AS MATERIALIZED (
  -- The groups in which a job before the place is left, be it that somebody else has it.
  SELECT g.ord FROM groups g WHERE EXISTS (
    SELECT 1 FROM (
      SELECT j.id FROM @jobs j
      WHERE j.state >= 5 AND j.name = g.name AND j.state = g.state AND j.owing = false
        AND (j.finished_at, j.turn) < (g.finished_at, g.turn)
      ORDER BY j.finished_at, j.turn LIMIT $6::int + 1
    ) AS f WHERE f.id <> ALL(ARRAY(SELECT id FROM gone))
  )
), left_over AS (
  INSERT INTO @trims AS l (name, state, finished_at, turn)
  SELECT g.name, g.state, g.finished_at, g.turn FROM groups g JOIN rest r ON r.ord = g.ord
  ON CONFLICT (name, state) DO UPDATE SET finished_at = excluded.finished_at, turn = excluded.turn
  WHERE (l.finished_at, l.turn) < (excluded.finished_at, excluded.turn)
), finished AS (
  DELETE FROM @trims l USING groups g
  WHERE l.name = g.name AND l.state = g.state AND (l.finished_at, l.turn) <= (g.finished_at, g.turn)
    AND NOT EXISTS (SELECT 1 FROM rest r WHERE r.ord = g.ord)
)
SELECT count(*)::int FROM gone;
