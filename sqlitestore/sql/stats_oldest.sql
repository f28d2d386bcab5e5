SELECT minute FROM braid_stats WHERE minute <= ?1 ORDER BY minute LIMIT 1;
