-- Waiting jobs of a queue and name that lie before a place of their priority.
SELECT s.id FROM unnest($3::int[], $4::bigint[]) AS p (priority, seq) CROSS JOIN LATERAL (
  SELECT id FROM @jobs WHERE state = 1 AND queue = $1::text AND name = $2::text AND priority = p.priority AND seq < p.seq
  ORDER BY seq LIMIT $5::int
) AS s
LIMIT $5::int;
