UPDATE braid_jobs SET flow = ?2, staged = NULL WHERE job = ?1;
