-- A dedup replace: id, seq, ledger and queue stay.
UPDATE @jobs j SET priority = i.priority, attempts_max = i.attempts_max, run_at = i.run_at, plain = i.plain AND j.parent IS NULL,
  settings = i.settings, trace = i.trace, metadata = i.metadata::jsonb, payload = i.payload/*assignments*/
FROM unnest($1::text[], $2::smallint[], $3::text[], $4::text[], $5::int[], $6::int[], $7::bigint[], $8::bigint[], $9::bigint[],
    $10::text[], $11::boolean[], $12::boolean[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[])
    AS i (id, state, queue, name, priority, attempts_max, run_at, enqueued_at, seq, dedupe_key, dedupe_ttl, plain, settings,
      trace, parent, metadata, payload)
WHERE j.id = i.id
RETURNING j.queue;
