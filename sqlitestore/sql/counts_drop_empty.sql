DELETE FROM braid_counts WHERE queue = ?1 AND name = ?2 AND state = ?3 AND jobs = 0;
