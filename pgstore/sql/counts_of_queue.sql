-- How many jobs a queue holds per state, or all of them, with the empty string.
SELECT state, sum(jobs)::bigint FROM (
  SELECT state, jobs FROM @counts WHERE state BETWEEN 1 AND 7 AND ($1::text = '' OR queue = $1::text)
  UNION ALL SELECT state, jobs FROM @changes WHERE state BETWEEN 1 AND 7 AND ($1::text = '' OR queue = $1::text)
) AS c GROUP BY state;
