SELECT name FROM braid_counts WHERE queue = ?1 AND name > '' AND state = 1;
