UPDATE @children c SET place = $4::smallint, armed_at = $5::bigint, turn = u.turn
FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS u (flow, child_key, turn)
WHERE c.flow = u.flow AND c.child_key = u.child_key;
