UPDATE @flows f SET turn = u.turn, standing = CASE WHEN u.more THEN 3 ELSE 0 END
FROM unnest($1::bigint[], $2::boolean[], $3::bigint[]) AS u (flow, more, turn)
WHERE f.flow = u.flow;
