-- How many jobs a queue holds per state, or all of them, with the empty string.
SELECT state, jobs FROM braid_counts WHERE queue = ?1 AND name = '' AND state < 10;
