-- Folds changes of counts into the counts. It tells how many jobs there were by both.
WITH taken AS (
  DELETE FROM @changes WHERE ctid = ANY(ARRAY(SELECT ctid FROM @changes LIMIT $1::int FOR UPDATE SKIP LOCKED))
  RETURNING queue, name, state, jobs
), folded AS (
  INSERT INTO @counts AS c (queue, name, state, jobs)
  SELECT queue, name, state, sum(jobs) FROM taken GROUP BY 1, 2, 3 HAVING sum(jobs) <> 0
  ON CONFLICT (queue, name, state) DO UPDATE SET jobs = c.jobs + excluded.jobs
)
SELECT count(*)::int,
       ((SELECT coalesce(sum(jobs), 0) FROM @counts WHERE state BETWEEN 1 AND 7)
         + coalesce(sum(jobs) FILTER (WHERE state BETWEEN 1 AND 7), 0))::bigint
FROM taken;
