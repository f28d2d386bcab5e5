-- How many jobs the sets hold that list_own would read, counted to a limit.
SELECT coalesce(sum(jobs), 0)::bigint FROM (
  SELECT queue, name, state, jobs FROM @counts UNION ALL SELECT queue, name, state, jobs FROM @changes
) AS c
WHERE c.state = 2 AND c.queue = ANY($1::text[]) OR c.state = 3 AND $2::boolean OR c.state = 4 AND $3::boolean
   OR (c.name, c.state) IN (SELECT * FROM unnest($4::text[], $5::smallint[]));
