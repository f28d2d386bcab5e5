INSERT INTO @flows (flow, job_id, children, fail_fast, pending, completed, failed, cancelled, landed_at, settled_early, owed,
  standing, armed_at, turn, asked_turn)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::boolean[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
  $9::bigint[], $10::boolean[], $11::bigint[], $12::smallint[], $13::bigint[], $14::bigint[], $15::bigint[])
ON CONFLICT (flow) DO UPDATE SET children = excluded.children, fail_fast = excluded.fail_fast, pending = excluded.pending,
  completed = excluded.completed, failed = excluded.failed, cancelled = excluded.cancelled, landed_at = excluded.landed_at,
  settled_early = excluded.settled_early, owed = excluded.owed, standing = excluded.standing, armed_at = excluded.armed_at,
  turn = excluded.turn, asked_turn = excluded.asked_turn;
