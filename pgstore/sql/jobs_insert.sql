-- Inserts jobs, in the order of their ids, so that batches that name the same ones in
-- different orders do not wait for each other in a circle. Their seq follows the order of
-- the items. Returns those whose ids are taken, with the seq that they would have had. An
-- array of one element, or none, stands for jobs that are all alike in that column.
WITH items AS MATERIALIZED (
  SELECT u.id, coalesce(u.state, ($2::smallint[])[1]) AS state, coalesce(u.queue, ($3::text[])[1]) AS queue,
    coalesce(u.name, ($4::text[])[1]) AS name, coalesce(u.priority, ($5::int[])[1]) AS priority,
    coalesce(u.attempts_max, ($6::int[])[1]) AS attempts_max, coalesce(u.run_at, ($7::bigint[])[1]) AS run_at,
    coalesce(u.enqueued_at, ($8::bigint[])[1]) AS enqueued_at, u.dedupe_key, coalesce(u.dedupe_ttl, ($11::boolean[])[1]) AS dedupe_ttl,
    coalesce(u.plain, ($12::boolean[])[1]) AS plain, u.settings, u.trace, u.parent, u.metadata, u.payload,
    coalesce(u.seq, nextval(@'numbers')) AS drawn
  FROM unnest($1::text[], $2::smallint[], $3::text[], $4::text[], $5::int[], $6::int[], $7::bigint[], $8::bigint[], $9::bigint[],
    $10::text[], $11::boolean[], $12::boolean[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[])
    AS u (id, state, queue, name, priority, attempts_max, run_at, enqueued_at, seq, dedupe_key, dedupe_ttl, plain, settings,
      trace, parent, metadata, payload)
), inserted AS (
  INSERT INTO @jobs (id, state, queue, name, priority, attempts_max, run_at, enqueued_at, seq, dedupe_key, dedupe_ttl, plain,
    settings, trace, parent, metadata, payload/*columns*/)
  SELECT i.id, i.state, i.queue, i.name, i.priority, i.attempts_max, i.run_at, i.enqueued_at, i.drawn, i.dedupe_key, i.dedupe_ttl,
    i.plain, i.settings, i.trace, i.parent, i.metadata::jsonb, i.payload/*values*/
  FROM items i ORDER BY i.id COLLATE "C"
  ON CONFLICT (id) DO NOTHING RETURNING id, queue, name, state
), counted AS (
  INSERT INTO @changes (queue, name, state, jobs) SELECT queue, name, state, count(*) FROM inserted GROUP BY 1, 2, 3
)
SELECT i.id, i.drawn FROM items i
WHERE (SELECT count(*) FROM inserted) < cardinality($1::text[]) AND i.id <> ALL(ARRAY(SELECT id FROM inserted));
