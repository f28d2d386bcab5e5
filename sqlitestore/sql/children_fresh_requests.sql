-- As children_fresh, with the requests.
SELECT c.child, f.job_id, c.child_key, c.name, c.store_key, c.job_id,
       iif(f.settled_early AND c.status = 1, 4, c.status), c.cascaded, c.failed_reason, c.exit, q.request, q.payload
FROM braid_flows f CROSS JOIN braid_children c ON c.flow = f.flow CROSS JOIN braid_child_requests q ON q.child = c.child
WHERE f.flow = ?1 AND c.place = 1
ORDER BY c.child_key LIMIT ?2;
