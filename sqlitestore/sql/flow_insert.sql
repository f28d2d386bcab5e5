INSERT INTO braid_flows (job_id) VALUES (?1);
