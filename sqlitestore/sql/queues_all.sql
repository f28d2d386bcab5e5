SELECT queue FROM braid_queues ORDER BY queue;
