-- Owed rows that a sweep has returned as owed, those of the longest ago first.
WITH asked AS MATERIALIZED (
  SELECT flow, job_id, settled_early FROM @flows WHERE asked_turn IS NOT NULL ORDER BY asked_turn LIMIT $1::int FOR UPDATE SKIP LOCKED
)
SELECT e.job_id, e.child_key, e.name, e.store_key, e.child_job_id, e.status, e.cascaded, e.failed_reason, e.exit, e.flow FROM asked f CROSS JOIN LATERAL (
  SELECT c.flow, f.job_id, c.child_key, c.name, c.store_key, c.job_id AS child_job_id,
           CASE WHEN f.settled_early AND c.status = 1 THEN 4::smallint ELSE c.status END AS status, c.cascaded, c.failed_reason, c.exit,
         c.turn
  FROM @children c WHERE c.flow = f.flow AND c.place = 3 ORDER BY c.turn LIMIT $1::int
) AS e ORDER BY e.turn LIMIT $1::int;
