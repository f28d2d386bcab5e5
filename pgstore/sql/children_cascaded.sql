-- Pays the debts of rows that were cancelled by an early settle.
UPDATE @children c SET status = 4, cascaded = true, place = 0, armed_at = NULL, turn = NULL
FROM unnest($1::bigint[], $2::text[]) AS u (flow, child_key)
WHERE c.flow = u.flow AND c.child_key = u.child_key;
