-- Folds changes of stats into the stats.
WITH taken AS (
  DELETE FROM @stat_changes WHERE ctid = ANY(ARRAY(SELECT ctid FROM @stat_changes LIMIT $1::int FOR UPDATE SKIP LOCKED))
  RETURNING minute, queue, outcome, runs, run_time, wait_time
), folded AS (
  INSERT INTO @stats AS s (minute, queue, outcome, runs, run_time, wait_time)
  SELECT minute, queue, outcome, sum(runs), sum(run_time), sum(wait_time) FROM taken GROUP BY 1, 2, 3
  ON CONFLICT (minute, queue, outcome) DO UPDATE SET runs = s.runs + excluded.runs,
    run_time = s.run_time + excluded.run_time, wait_time = s.wait_time + excluded.wait_time
)
SELECT count(*)::int FROM taken;
