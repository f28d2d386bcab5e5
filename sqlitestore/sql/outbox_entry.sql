SELECT at, flow_name, store_key, flow_id, child_key, outcome, job_id, failed_reason, exit FROM braid_outbox WHERE entry = ?1;
