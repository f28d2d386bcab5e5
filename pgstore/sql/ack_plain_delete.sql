-- Ends active jobs in one step by deleting them, if all of them are plain; else none.
-- Returns those that were not ended.
WITH items AS MATERIALIZED (
  SELECT u.* FROM unnest($1::text[], $2::text[], $3::smallint[], $4::text[]) WITH ORDINALITY AS u (id, token, state, exit, ord)
), present AS MATERIALIZED (
  SELECT i.ord, j.id, (j.plain AND j.flow IS NULL AND j.staged IS NULL) AS plain
  FROM items i JOIN @jobs j ON j.id = i.id
), fit AS MATERIALIZED (
  SELECT coalesce(bool_and(plain), true) AND $5::bigint IS NOT NULL AS yes FROM present
), done AS (
  DELETE FROM @jobs j USING (SELECT * FROM items ORDER BY id) AS i
  WHERE j.id = i.id AND j.state + 0 = 3 AND j.token = i.token AND (SELECT yes FROM fit)
  RETURNING i.ord, j.id, j.queue, j.name, j.ledger, j.dedupe_key
), ledgers AS (
  DELETE FROM @attempts WHERE id = ANY(ARRAY(SELECT id FROM done WHERE ledger > 0))
), counted AS (
  INSERT INTO @changes (queue, name, state, jobs) SELECT queue, name, 3, -count(*) FROM done GROUP BY 1, 2
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
