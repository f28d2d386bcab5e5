INSERT INTO braid_stats (minute, queue, outcome, runs, run_time, wait_time) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT DO UPDATE SET runs = runs + excluded.runs, run_time = run_time + excluded.run_time,
  wait_time = wait_time + excluded.wait_time;
