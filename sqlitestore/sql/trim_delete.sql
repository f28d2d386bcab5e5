DELETE FROM braid_trims WHERE name = ?1 AND state = ?2;
