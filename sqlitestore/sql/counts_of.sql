-- One count of jobs.
SELECT jobs FROM braid_counts WHERE queue = ?1 AND name = ?2 AND state = ?3;
