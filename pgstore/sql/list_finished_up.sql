-- Finished jobs of some names and states, by the time at which they finished.
SELECT e.* FROM (SELECT * FROM unnest($4::text[], $5::smallint[]) AS g (name, state) CROSS JOIN (VALUES (false), (true)) AS o (owing)) AS l CROSS JOIN LATERAL (
  SELECT finished_at AS at, id, state, queue, name, metadata::text FROM @jobs
  WHERE state >= 5 AND name = l.name AND state = l.state AND owing = l.owing AND finished_at >= $1::bigint AND (finished_at, id) > ($1::bigint, $2::text)
  ORDER BY finished_at, id LIMIT $3::int
) AS e
ORDER BY e.at, e.id LIMIT $3::int;
