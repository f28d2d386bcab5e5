-- Completes or fails active jobs in one step, if all of them are plain; else none.
-- Returns those that were not finished: they may only have been changed meanwhile, by a
-- heartbeat, say, since rows are taken where the statement saw them first. Counts the runs under the minute $6, NULL for not at
-- all; $7 is what a longer run or wait counts as.
WITH items AS MATERIALIZED (
  SELECT u.*, nextval(@'numbers') AS turn
  FROM unnest($1::text[], $2::text[], $3::smallint[], $4::text[]) WITH ORDINALITY AS u (id, token, state, exit, ord)
), present AS MATERIALIZED (
  SELECT i.ord, i.token, i.state, i.exit, i.turn, j.ctid AS at, j.id, (j.plain AND j.flow IS NULL AND j.staged IS NULL) AS plain
  FROM (SELECT * FROM items ORDER BY id) AS i JOIN @jobs j ON j.id = i.id
), fit AS MATERIALIZED (
  SELECT coalesce(bool_and(plain), true) AS yes FROM present
), done AS (
  UPDATE @jobs j SET state = p.state, outcome = CASE p.state WHEN 5 THEN 1 ELSE 3 END, attempts_made = j.attempts_made + 1,
    finished_at = $5::bigint, turn = p.turn, ran = true, exit = p.exit, token = NULL, lock_expires_at = NULL, cancel_requested = false
  FROM present p
  WHERE j.ctid = p.at AND j.id = p.id AND j.state + 0 = 3 AND j.token = p.token AND (SELECT yes FROM fit)
  RETURNING p.ord, j.id, j.queue, j.name, j.state, j.dedupe_key,
    j.run_at, coalesce(j.processed_at, $5::bigint)::numeric AS claimed
), counted AS (
  INSERT INTO @changes (queue, name, state, jobs)
  SELECT queue, name, state, count(*) FROM done GROUP BY 1, 2, 3
  UNION ALL SELECT queue, name, 3, -count(*) FROM done GROUP BY 1, 2
), counted_runs AS (
  INSERT INTO @stat_changes (minute, queue, outcome, runs, run_time, wait_time)
  SELECT $6::bigint, queue, CASE state WHEN 5 THEN 1 ELSE 3 END, count(*),
    sum(least(greatest($5::bigint - claimed, 0), $7::bigint)), sum(least(greatest(claimed - run_at, 0), $7::bigint))
  FROM done WHERE $6::bigint IS NOT NULL GROUP BY queue, state
), freed AS (
  DELETE FROM @dedupe d USING done f
  WHERE f.dedupe_key IS NOT NULL AND d.name = f.name AND d.key = f.dedupe_key AND d.id = f.id AND d.owned AND d.expires_at IS NULL
)
SELECT i.ord, bool_or(i.there), bool_and((SELECT yes FROM fit)) FROM (
  SELECT ord, false AS done, false AS there FROM items UNION ALL SELECT ord, true, true FROM done UNION ALL SELECT ord, false, true FROM present
) AS i GROUP BY i.ord HAVING NOT bool_or(i.done);
