-- Deletes the stats of the oldest minutes up to $1: whole minutes, until $2 are gone.
-- Tells how many were, and whether there are more.
WITH last AS MATERIALIZED (
  SELECT coalesce((
    SELECT minute FROM @stats WHERE minute <= $1::bigint ORDER BY minute OFFSET greatest($2::bigint - 1, 0) LIMIT 1
  ), $1::bigint) AS minute WHERE $2::bigint > 0
), gone AS (
  DELETE FROM @stats WHERE minute <= (SELECT minute FROM last) RETURNING minute
)
SELECT (SELECT count(*)::int FROM gone), EXISTS (
  SELECT 1 FROM @stats WHERE minute <= $1::bigint AND minute > coalesce((SELECT minute FROM last), -9223372036854775808)
);
