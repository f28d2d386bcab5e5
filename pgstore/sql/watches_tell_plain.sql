-- Notes how jobs will have ended that ack_plain_delete is about to delete.
UPDATE @watches w SET ended_at = $5::bigint, state = i.state, exit = i.exit, attempts_made = j.attempts_made + 1
FROM unnest($1::text[], $2::text[], $3::smallint[], $4::text[]) AS i (id, token, state, exit) JOIN @jobs j ON j.id = i.id
WHERE w.id = i.id AND w.ended_at IS NULL AND j.state + 0 = 3 AND j.token = i.token
  AND NOT EXISTS (SELECT 1 FROM @jobs o WHERE o.id = ANY($1::text[]) AND NOT (o.plain AND o.flow IS NULL AND o.staged IS NULL))
RETURNING w.watch, w.listener, w.id, w.state, w.exit, w.failed_reason, w.attempts_made;
