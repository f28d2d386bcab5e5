-- A page of a flow's rows, by child key, and the first row that does not fit into $4 bytes or
-- $3 rows.
SELECT job_id, child_key, name, store_key, child_job_id, status, cascaded, CASE WHEN fits THEN failed_reason END,
       CASE WHEN fits THEN exit END, fits
FROM (
  SELECT f.job_id, c.child_key, c.name, c.store_key, c.job_id AS child_job_id,
         CASE WHEN f.settled_early AND c.status = 1 THEN 4::smallint ELSE c.status END AS status, c.cascaded, c.failed_reason, c.exit,
         row_number() OVER w = 1
         OR sum(coalesce(octet_length(c.exit), 0) + coalesce(octet_length(c.failed_reason), 0)) OVER w <= $4::bigint AS fits
  FROM @jobs j JOIN @flows f ON f.flow = j.flow CROSS JOIN LATERAL (
    SELECT * FROM @children WHERE flow = f.flow AND child_key > $2::text ORDER BY child_key LIMIT $3::int + 1
  ) AS c
  WHERE j.id = $1::text
  WINDOW w AS (ORDER BY c.child_key)
) AS page ORDER BY child_key;
