UPDATE @children c SET status = u.status, failed_reason = u.failed_reason, exit = u.exit, cascaded = true, place = 0,
  armed_at = NULL, turn = NULL
FROM unnest($1::bigint[], $2::text[], $3::smallint[], $4::text[], $5::text[]) AS u (flow, child_key, status, failed_reason, exit)
WHERE c.flow = u.flow AND c.child_key = u.child_key;
