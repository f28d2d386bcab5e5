UPDATE braid_queues SET paused = 0 WHERE queue = ?1 AND paused = 1;
