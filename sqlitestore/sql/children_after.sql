-- A page of a flow's rows, by child key.
SELECT c.child, f.job_id, c.child_key, c.name, c.store_key, c.job_id,
       iif(f.settled_early AND c.status = 1, 4, c.status), c.cascaded, c.failed_reason, c.exit
FROM braid_flows f CROSS JOIN braid_children c ON c.flow = f.flow
WHERE f.flow = ?1 AND c.child_key > ?2
ORDER BY c.child_key LIMIT ?3;
