-- Due flows get their next turn, or are armed if they have nothing due left: since when
-- their longest waiting row waits.
UPDATE @flows f SET turn = u.turn, standing = CASE WHEN u.more THEN 2 ELSE 1 END,
  armed_at = CASE
    WHEN u.more THEN f.armed_at
    WHEN EXISTS (SELECT 1 FROM @children c WHERE c.flow = f.flow AND c.place = 1) THEN
      least(f.landed_at, (SELECT c.armed_at FROM @children c WHERE c.flow = f.flow AND c.place = 2 ORDER BY c.armed_at, c.turn LIMIT 1))
    ELSE coalesce((SELECT c.armed_at FROM @children c WHERE c.flow = f.flow AND c.place = 2 ORDER BY c.armed_at, c.turn LIMIT 1), f.landed_at)
  END
FROM unnest($1::bigint[], $2::boolean[], $3::bigint[]) AS u (flow, more, turn)
WHERE f.flow = u.flow;
