INSERT INTO @outbox (entry, at, outcome, flow_name, store_key, flow_id, child_key, job_id, failed_reason, exit)
SELECT u.entry, $2::bigint, u.outcome, u.flow_name, u.store_key, u.flow_id, u.child_key, u.job_id, u.failed_reason, u.exit
FROM unnest($1::bigint[], $3::smallint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[])
  AS u (entry, outcome, flow_name, store_key, flow_id, child_key, job_id, failed_reason, exit);
