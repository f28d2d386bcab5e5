DELETE FROM braid_attempts WHERE job = ?1;
