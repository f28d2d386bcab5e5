-- Ends active jobs in one step by deleting them, if all of them are plain; else none.
-- Returns those that were not ended. Counts the runs under the minute $6, NULL for not at
-- all; $7 is what a longer run or wait counts as.
WITH items AS MATERIALIZED (
  SELECT u.* FROM unnest($1::text[], $2::text[], $3::smallint[], $4::text[]) WITH ORDINALITY AS u (id, token, state, exit, ord)
), present AS MATERIALIZED (
  SELECT i.ord, j.id, (j.plain AND j.flow IS NULL AND j.staged IS NULL) AS plain
  FROM items i JOIN @jobs j ON j.id = i.id
), fit AS MATERIALIZED (
  SELECT coalesce(bool_and(plain), true) AS yes FROM present
), done AS (
  DELETE FROM @jobs j USING (SELECT * FROM items ORDER BY id) AS i
  WHERE j.id = i.id AND j.state + 0 = 3 AND j.token = i.token AND (SELECT yes FROM fit)
  RETURNING i.ord, j.id, j.queue, j.name, j.ledger, j.dedupe_key,
    i.state, j.run_at, coalesce(j.processed_at, $5::bigint)::numeric AS claimed
), ledgers AS (
  DELETE FROM @attempts WHERE id = ANY(ARRAY(SELECT id FROM done WHERE ledger > 0))
), counted AS (
  INSERT INTO @changes (queue, name, state, jobs) SELECT queue, name, 3, -count(*) FROM done GROUP BY 1, 2
), counted_runs AS (
  INSERT INTO @stat_changes (minute, queue, outcome, runs, run_time, wait_time)
  SELECT $6::bigint, queue, CASE state WHEN 5 THEN 1 ELSE 3 END, count(*),
    sum(least(greatest($5::bigint - claimed, 0), $7::bigint)), sum(least(greatest(claimed - run_at, 0), $7::bigint))
  FROM done WHERE $6::bigint IS NOT NULL GROUP BY queue, state
), freed AS (
  DELETE FROM @dedupe d USING done f
  WHERE f.dedupe_key IS NOT NULL AND d.name = f.name AND d.key = f.dedupe_key AND d.id = f.id AND d.expires_at IS NULL
), windows AS (
  UPDATE @dedupe d SET owned = false FROM done f
  WHERE f.dedupe_key IS NOT NULL AND d.name = f.name AND d.key = f.dedupe_key AND d.id = f.id AND d.expires_at IS NOT NULL
)
SELECT i.ord, bool_or(i.there), bool_and((SELECT yes FROM fit)) FROM (
  SELECT ord, false AS done, false AS there FROM items UNION ALL SELECT ord, true, true FROM done UNION ALL SELECT ord, false, true FROM present
) AS i GROUP BY i.ord HAVING NOT bool_or(i.done);
