-- A page that is sent again overwrites.
UPDATE braid_children SET store_key = ?3, name = ?4, job_id = ?5 WHERE flow = ?1 AND child_key = ?2 RETURNING child;
