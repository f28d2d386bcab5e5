SELECT c.queue, c.name, c.state, c.jobs
FROM braid_queues q CROSS JOIN braid_counts c ON c.queue = q.queue WHERE c.name = ?1 AND c.state < 10;
