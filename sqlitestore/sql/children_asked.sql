-- Rows that a sweep has returned as owed, those of the longest ago first.
SELECT c.child, f.job_id, c.child_key, c.name, c.store_key, c.job_id,
       iif(f.settled_early AND c.status = 1, 4, c.status), c.cascaded, c.failed_reason, c.exit
FROM braid_flows f CROSS JOIN braid_children c ON c.flow = f.flow
WHERE f.flow = ?1 AND c.place = 3
ORDER BY c.turn LIMIT ?2;
