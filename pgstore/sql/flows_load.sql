SELECT flow, job_id, children, fail_fast, pending, completed, failed, cancelled, landed_at, settled_early, owed, standing,
       armed_at, turn, asked_turn
FROM @flows WHERE flow = ANY($1::bigint[]) ORDER BY flow FOR UPDATE;
