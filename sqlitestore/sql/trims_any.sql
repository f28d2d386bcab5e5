SELECT 1 FROM braid_trims LIMIT 1;
