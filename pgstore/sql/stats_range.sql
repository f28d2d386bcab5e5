-- Stats of minutes in [$1, $2), of the queues $3, NULL for all: up to the minute in which
-- there are $4 of them, and the first one of the next minute, if there is one.
WITH full_minute AS MATERIALIZED (
  SELECT minute FROM @stats
  WHERE minute >= $1::bigint AND minute < $2::bigint AND ($3::text[] IS NULL OR queue = ANY($3::text[]))
  ORDER BY minute OFFSET $4::bigint - 1 LIMIT 1
), last AS MATERIALIZED (
  SELECT s.minute FROM full_minute f JOIN @stats s
    ON s.minute > f.minute AND s.minute < $2::bigint AND ($3::text[] IS NULL OR s.queue = ANY($3::text[]))
  ORDER BY s.minute LIMIT 1
)
SELECT minute, queue, outcome, sum(runs)::bigint, sum(run_time)::bigint, sum(wait_time)::bigint FROM (
  SELECT minute, queue, outcome, runs, run_time, wait_time FROM @stats
  WHERE minute >= $1::bigint AND minute < $2::bigint AND minute <= coalesce((SELECT minute FROM last), $2::bigint)
    AND ($3::text[] IS NULL OR queue = ANY($3::text[]))
  UNION ALL
  SELECT minute, queue, outcome, runs, run_time, wait_time FROM @stat_changes
  WHERE minute >= $1::bigint AND minute < $2::bigint AND minute <= coalesce((SELECT minute FROM last), $2::bigint)
    AND ($3::text[] IS NULL OR queue = ANY($3::text[]))
) AS runs GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
