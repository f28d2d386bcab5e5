DELETE FROM braid_depths WHERE minute <= ?1;
