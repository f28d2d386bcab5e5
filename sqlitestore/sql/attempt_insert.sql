INSERT INTO braid_attempts (job, attempt, started_at, finished_at, outcome, worker, exit) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);
