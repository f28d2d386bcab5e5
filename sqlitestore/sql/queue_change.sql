INSERT INTO braid_queues (queue, jobs, wake) VALUES (?1, ?2, ?3)
ON CONFLICT DO UPDATE SET jobs = jobs + excluded.jobs, wake = max(wake, excluded.wake);
