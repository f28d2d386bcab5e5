-- The names of the jobs in a state.
SELECT name FROM braid_counts WHERE queue = '' AND name > '' AND state = ?1;
