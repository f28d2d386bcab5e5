SELECT minute, queue, outcome, runs, run_time, wait_time FROM braid_stats
WHERE minute >= ?1 AND minute < ?2 ORDER BY minute, queue, outcome;
