-- Notes for those who wait how jobs have ended.
UPDATE @watches w SET ended_at = $2::bigint, state = j.state, exit = j.exit, failed_reason = j.failed_reason,
  attempts_made = j.attempts_made
FROM @jobs j
WHERE w.id = ANY($1::text[]) AND w.ended_at IS NULL AND j.id = w.id AND j.state + 0 >= 5
RETURNING w.watch, w.listener, w.id, w.state, w.exit, w.failed_reason, w.attempts_made;
