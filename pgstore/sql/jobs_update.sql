-- Every transition but a claim: after it the job is not active.
UPDATE @jobs j SET state = u.state, seq = u.seq, run_at = u.run_at, attempts_made = u.attempts_made,
  stalled_count = u.stalled_count, ledger = u.ledger, processed_at = u.processed_at, locked_by = u.locked_by, flow = u.flow,
  finished_at = u.finished_at, turn = u.turn, outcome = u.outcome, ran = u.ran, failed_reason = u.failed_reason,
  owing = u.owing, expires_at = u.expires_at, dedupe_key = u.dedupe_key, exit = u.exit,
  token = NULL, lock_expires_at = NULL, cancel_requested = false, staged = NULL
FROM unnest($1::text[], $2::smallint[], $3::bigint[], $4::bigint[], $5::int[], $6::int[], $7::int[], $8::bigint[], $9::text[],
  $10::bigint[], $11::bigint[], $12::bigint[], $13::smallint[], $14::boolean[], $15::text[], $16::boolean[], $17::bigint[],
  $18::text[], $19::text[]) AS u (id, state, seq, run_at, attempts_made, stalled_count, ledger, processed_at, locked_by,
  flow, finished_at, turn, outcome, ran, failed_reason, owing, expires_at, dedupe_key, exit)
WHERE j.id = u.id;
