-- What a step needs to know of children whose flows it has locked.
SELECT c.flow, c.child_key, c.status, c.job_id, c.cascaded
FROM unnest($1::bigint[], $2::text[]) AS u (flow, child_key) JOIN @children c ON c.flow = u.flow AND c.child_key = u.child_key;
