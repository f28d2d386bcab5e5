SELECT queue, wake FROM braid_queues WHERE wake > ?1;
