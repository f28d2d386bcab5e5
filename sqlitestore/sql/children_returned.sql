-- Rows that a sweep has returned while they were pending.
SELECT c.child, f.job_id, c.child_key, c.name, c.store_key, c.job_id,
       iif(f.settled_early AND c.status = 1, 4, c.status), c.cascaded, c.failed_reason, c.exit
FROM braid_flows f CROSS JOIN braid_children c ON c.flow = f.flow
WHERE f.flow = ?1 AND c.place = 2
ORDER BY c.armed_at, c.turn LIMIT ?2;
