-- The jobs of some states, where they are few, each by the index of its state.
SELECT e.* FROM (
  SELECT j.enqueued_at AS at, j.id, j.state, j.queue, j.name, j.metadata::text
  FROM unnest($1::text[], $2::text[]) AS l (queue, name) JOIN @jobs j ON j.state = 1 AND j.queue = l.queue AND j.name = l.name
  UNION ALL
  SELECT j.enqueued_at, j.id, j.state, j.queue, j.name, j.metadata::text
  FROM unnest($3::text[]) AS l (queue) JOIN @jobs j ON j.state = 2 AND j.queue = l.queue
  UNION ALL
  SELECT enqueued_at, id, state, queue, name, metadata::text FROM @jobs WHERE $4::boolean AND state = 3
  UNION ALL
  SELECT enqueued_at, id, state, queue, name, metadata::text FROM @jobs WHERE $5::boolean AND state = 4
  UNION ALL
  SELECT j.enqueued_at, j.id, j.state, j.queue, j.name, j.metadata::text
  FROM unnest($6::text[], $7::smallint[]) AS l (name, state) JOIN @jobs j ON j.state >= 5 AND j.name = l.name AND j.state = l.state
) AS e;
