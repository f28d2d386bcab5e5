SELECT name, state, finished_at, turn FROM braid_trims LIMIT 1;
