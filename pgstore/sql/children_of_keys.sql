-- Dependency rows as callers see them, by their keys.
SELECT f.job_id, c.child_key, c.name, c.store_key, c.job_id, CASE WHEN f.settled_early AND c.status = 1 THEN 4::smallint ELSE c.status END,
       c.cascaded, c.failed_reason, c.exit, u.ord::int
FROM @jobs j JOIN @flows f ON f.flow = j.flow CROSS JOIN unnest($2::text[]) WITH ORDINALITY AS u (child_key, ord)
JOIN @children c ON c.flow = f.flow AND c.child_key = u.child_key
WHERE j.id = $1::text;
