SELECT 1 FROM braid_queues WHERE queue = ?1 AND paused = 1;
