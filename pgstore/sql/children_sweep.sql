-- Deletes up to $1 children of abandoned flows.
WITH abandoned AS MATERIALIZED (
  SELECT flow FROM @flows WHERE standing = 4 ORDER BY turn LIMIT $1::int + 1 FOR UPDATE SKIP LOCKED
), found AS MATERIALIZED (
  SELECT c.flow, c.child_key, row_number() OVER () AS n FROM (
    SELECT e.* FROM abandoned a CROSS JOIN LATERAL (
      SELECT flow, child_key FROM @children WHERE flow = a.flow ORDER BY child_key LIMIT $1::int + 1
    ) AS e LIMIT $1::int + 1
  ) AS c
), gone AS MATERIALIZED (
  SELECT flow, child_key FROM found WHERE n <= $1::int
), children AS (
  DELETE FROM @children c USING gone g WHERE c.flow = g.flow AND c.child_key = g.child_key
), requests AS (
  DELETE FROM @requests r USING gone g WHERE r.flow = g.flow AND r.child_key = g.child_key
), counted AS (
  UPDATE @flows f SET children = f.children - g.n FROM (SELECT flow, count(*) AS n FROM gone GROUP BY flow) AS g WHERE f.flow = g.flow
)
SELECT (SELECT count(*)::int FROM gone),
       (SELECT count(*) FROM found) > $1::int OR (SELECT count(*) FROM abandoned) > $1::int AND (SELECT count(*) FROM gone) > 0;
