-- Inserts jobs whose ids the store has assigned, and fails if one of them is taken. An
-- array of one element, or none, stands for jobs that are all alike in that column.
INSERT INTO @jobs (id, state, queue, name, priority, attempts_max, run_at, enqueued_at, seq, dedupe_key, dedupe_ttl, plain,
  settings, trace, parent, metadata, payload/*columns*/)
SELECT i.id, coalesce(i.state, ($2::smallint[])[1]), coalesce(i.queue, ($3::text[])[1]), coalesce(i.name, ($4::text[])[1]),
  coalesce(i.priority, ($5::int[])[1]), coalesce(i.attempts_max, ($6::int[])[1]), coalesce(i.run_at, ($7::bigint[])[1]),
  coalesce(i.enqueued_at, ($8::bigint[])[1]), coalesce(i.seq, nextval(@'numbers')), i.dedupe_key, coalesce(i.dedupe_ttl, ($11::boolean[])[1]),
  coalesce(i.plain, ($12::boolean[])[1]), i.settings, i.trace, i.parent, i.metadata::jsonb, i.payload/*values*/
FROM unnest($1::text[], $2::smallint[], $3::text[], $4::text[], $5::int[], $6::int[], $7::bigint[], $8::bigint[], $9::bigint[],
  $10::text[], $11::boolean[], $12::boolean[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[])
  AS i (id, state, queue, name, priority, attempts_max, run_at, enqueued_at, seq, dedupe_key, dedupe_ttl, plain, settings,
    trace, parent, metadata, payload);
