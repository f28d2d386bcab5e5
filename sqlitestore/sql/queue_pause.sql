INSERT INTO braid_queues (queue, jobs, paused) VALUES (?1, 0, 1) ON CONFLICT DO UPDATE SET paused = 1;
