SELECT queue, name, state, jobs FROM braid_counts WHERE queue = ?1 AND name = ?2 AND state < 10;
