-- How many jobs of each queue, name and state there are; empty filters match any.
SELECT queue, name, state, sum(jobs)::bigint FROM (
  SELECT queue, name, state, jobs FROM @counts
  WHERE state BETWEEN 1 AND 7 AND ($1::text = '' OR queue = $1::text) AND ($2::text = '' OR name = $2::text)
  UNION ALL SELECT queue, name, state, jobs FROM @changes
  WHERE state BETWEEN 1 AND 7 AND ($1::text = '' OR queue = $1::text) AND ($2::text = '' OR name = $2::text)
) AS c GROUP BY 1, 2, 3 HAVING sum(jobs) > 0;
