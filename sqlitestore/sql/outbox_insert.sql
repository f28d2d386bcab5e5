INSERT INTO braid_outbox (entry, at, flow_name, store_key, flow_id, child_key, outcome, job_id, failed_reason, exit)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10);
