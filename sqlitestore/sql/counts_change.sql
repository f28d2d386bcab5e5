INSERT INTO braid_counts (queue, name, state, jobs) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT DO UPDATE SET jobs = jobs + excluded.jobs;
