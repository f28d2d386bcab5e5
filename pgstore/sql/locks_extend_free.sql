-- As locks_extend, of jobs that nobody else has. Returns the others too, with false.
WITH items AS MATERIALIZED (
  SELECT * FROM unnest($1::text[], $2::text[]) AS u (id, token)
), free AS MATERIALIZED (
  SELECT j.id FROM (SELECT * FROM items ORDER BY id COLLATE "C") AS i JOIN @jobs j ON j.id = i.id
  WHERE j.state + 0 = 3 AND j.token = i.token FOR NO KEY UPDATE OF j SKIP LOCKED
), extended AS (
  UPDATE @jobs SET lock_expires_at = $3::bigint WHERE id = ANY(ARRAY(SELECT id FROM free)) RETURNING id
)
SELECT j.id, j.token, j.cancel_requested, e.id IS NOT NULL
FROM items i JOIN @jobs j ON j.id = i.id AND j.state + 0 = 3 AND j.token = i.token LEFT JOIN extended e ON e.id = j.id;
