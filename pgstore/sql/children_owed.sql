-- Owed rows that no sweep has returned as owed, flow by flow in turn.
WITH owed AS MATERIALIZED (
  SELECT flow, job_id, settled_early FROM @flows WHERE standing = 3 ORDER BY turn LIMIT $1::int FOR UPDATE SKIP LOCKED
)
SELECT e.job_id, e.child_key, e.name, e.store_key, e.child_job_id, e.status, e.cascaded, e.failed_reason, e.exit, e.flow FROM owed f CROSS JOIN LATERAL (
  SELECT * FROM (
    (
      SELECT c.flow, f.job_id, c.child_key, c.name, c.store_key, c.job_id AS child_job_id,
           CASE WHEN f.settled_early AND c.status = 1 THEN 4::smallint ELSE c.status END AS status, c.cascaded, c.failed_reason, c.exit,
           1 AS part, NULL::bigint AS armed_at, NULL::bigint AS turn
      FROM @children c WHERE c.flow = f.flow AND c.place = 1 ORDER BY c.child_key LIMIT $1::int
    ) UNION ALL (
      SELECT c.flow, f.job_id, c.child_key, c.name, c.store_key, c.job_id AS child_job_id,
           CASE WHEN f.settled_early AND c.status = 1 THEN 4::smallint ELSE c.status END AS status, c.cascaded, c.failed_reason, c.exit,
           2, c.armed_at, c.turn
      FROM @children c WHERE c.flow = f.flow AND c.place = 2 ORDER BY c.armed_at, c.turn LIMIT $1::int
    )
  ) AS both_parts
  ORDER BY part, CASE WHEN part = 1 THEN child_key END, armed_at, turn LIMIT $1::int
) AS e LIMIT $1::int;
