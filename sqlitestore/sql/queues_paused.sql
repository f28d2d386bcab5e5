SELECT queue FROM braid_queues WHERE paused = 1 ORDER BY queue;
