-- Whether a job is waiting, and how many of its queue stand before it, counted to a limit.
SELECT own.state = 1, (
  SELECT count(*)::int FROM (
    SELECT 1 FROM (
      SELECT DISTINCT name FROM (
        SELECT name FROM @counts WHERE queue = own.queue AND state = 1 UNION ALL SELECT name FROM @changes WHERE queue = own.queue AND state = 1
      ) AS c
    ) AS n CROSS JOIN LATERAL (
      SELECT 1 FROM @jobs j WHERE own.state = 1 AND j.state = 1 AND j.queue = own.queue AND j.name = n.name
        AND j.priority >= own.priority AND (j.priority > own.priority OR j.seq < own.seq)
      ORDER BY j.priority DESC, j.seq LIMIT $2::int
    ) AS before LIMIT $2::int
  ) AS ahead)
FROM @jobs own WHERE own.id = $1::text;
