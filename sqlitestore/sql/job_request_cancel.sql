UPDATE braid_jobs SET cancel_requested = 1 WHERE job = ?1;
