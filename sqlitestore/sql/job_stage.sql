UPDATE braid_jobs SET staged = ?2 WHERE job = ?1;
