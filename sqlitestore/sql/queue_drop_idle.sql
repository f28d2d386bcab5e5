-- A queue that neither holds a job nor is paused does not exist.
DELETE FROM braid_queues WHERE queue = ?1 AND jobs = 0 AND paused = 0;
