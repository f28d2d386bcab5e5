-- Rows of flows that have been pending since $2 or that a sweep has not returned since,
-- flow by flow in the order given.
SELECT e.flow, e.child_key, e.size FROM unnest($1::bigint[]) AS u (flow) JOIN @flows f ON f.flow = u.flow CROSS JOIN LATERAL (
  SELECT * FROM (
    (
      SELECT c.flow, c.child_key, 1 AS part, NULL::bigint AS armed_at, NULL::bigint AS turn
      FROM @children c WHERE c.flow = f.flow AND c.place = 1 AND f.landed_at <= $2::bigint ORDER BY c.child_key LIMIT $3::int
    ) UNION ALL (
      SELECT c.flow, c.child_key, 2, c.armed_at, c.turn
      FROM @children c WHERE c.flow = f.flow AND c.place = 2 AND c.armed_at <= $2::bigint ORDER BY c.armed_at, c.turn LIMIT $3::int
    )
  ) AS both_parts CROSS JOIN LATERAL (
    SELECT coalesce(octet_length(r.payload), 0)::bigint AS size FROM @requests r WHERE r.flow = both_parts.flow AND r.child_key = both_parts.child_key
  ) AS q
  ORDER BY part, CASE WHEN part = 1 THEN child_key END, armed_at, turn LIMIT $3::int
) AS e LIMIT $3::int;
