-- As children_returned, those that are due again, with the requests.
SELECT c.child, f.job_id, c.child_key, c.name, c.store_key, c.job_id,
       iif(f.settled_early AND c.status = 1, 4, c.status), c.cascaded, c.failed_reason, c.exit, q.request, q.payload
FROM braid_flows f CROSS JOIN braid_children c ON c.flow = f.flow CROSS JOIN braid_child_requests q ON q.child = c.child
WHERE f.flow = ?1 AND c.place = 2 AND c.armed_at <= ?2
ORDER BY c.armed_at, c.turn LIMIT ?3;
