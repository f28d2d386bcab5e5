-- The flows' places among those with rows that were returned as owed. Flows with nothing
-- left that no sweep has returned as owed do not stand among those that have.
UPDATE @flows f SET
  asked_turn = CASE WHEN f.standing <> 4 THEN
    (SELECT c.turn FROM @children c WHERE c.flow = f.flow AND c.place = 3 ORDER BY c.turn LIMIT 1) END,
  standing = CASE WHEN f.standing = 3
    AND NOT EXISTS (SELECT 1 FROM @children c WHERE c.flow = f.flow AND c.place = 1)
    AND NOT EXISTS (SELECT 1 FROM @children c WHERE c.flow = f.flow AND c.place = 2) THEN 0 ELSE f.standing END
WHERE f.flow = ANY($1::bigint[]);
