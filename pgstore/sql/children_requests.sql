-- Dependency rows with their requests, in the order given.
SELECT f.job_id, c.child_key, c.name, c.store_key, c.job_id, CASE WHEN f.settled_early AND c.status = 1 THEN 4::smallint ELSE c.status END,
       c.cascaded, c.failed_reason, c.exit, r.request, r.payload, u.ord::int
FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS u (flow, child_key, ord)
JOIN @flows f ON f.flow = u.flow
JOIN @children c ON c.flow = u.flow AND c.child_key = u.child_key
JOIN @requests r ON r.flow = u.flow AND r.child_key = u.child_key
ORDER BY u.ord;
