-- After a claim: whether the queue is paused, when its first delayed job falls due, and
-- whether jobs of those names still wait.
SELECT EXISTS (SELECT 1 FROM @paused WHERE queue = $1::text),
       (SELECT run_at FROM @jobs WHERE state = 2 AND queue = $1::text ORDER BY run_at, seq LIMIT 1),
       $3::boolean AND EXISTS (SELECT 1 FROM unnest($2::text[]) AS n (name) CROSS JOIN LATERAL (
         SELECT 1 FROM @jobs WHERE state = 1 AND queue = $1::text AND name = n.name LIMIT 1) AS waiting);
