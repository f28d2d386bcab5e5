-- Inserts nothing if the key was staged before under this run.
INSERT INTO braid_children (flow, child_key, store_key, name, job_id) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (flow, child_key) DO NOTHING;
