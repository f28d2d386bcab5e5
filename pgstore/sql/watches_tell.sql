-- Notes for those who wait how jobs have ended that are not kept; state 0: removed.
UPDATE @watches w SET ended_at = $6::bigint, state = u.state, exit = u.exit, failed_reason = u.failed_reason,
  attempts_made = u.attempts_made
FROM unnest($1::text[], $2::smallint[], $3::text[], $4::text[], $5::int[]) AS u (id, state, exit, failed_reason, attempts_made)
WHERE w.id = u.id AND w.ended_at IS NULL
RETURNING w.watch, w.listener, w.id, w.state, w.exit, w.failed_reason, w.attempts_made;
