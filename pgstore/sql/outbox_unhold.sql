-- What is not held any more is ready.
WITH RECURSIVE all_keys (store_key) AS (
  (SELECT store_key FROM @outbox WHERE $2::boolean ORDER BY store_key LIMIT 1)
  UNION ALL
  SELECT (SELECT o.store_key FROM @outbox o WHERE o.store_key > k.store_key ORDER BY o.store_key LIMIT 1)
  FROM all_keys k WHERE k.store_key IS NOT NULL
), keys AS MATERIALIZED (
  SELECT store_key FROM all_keys WHERE store_key IS NOT NULL UNION SELECT * FROM unnest($1::text[])
)
UPDATE @outbox SET held_until = NULL WHERE entry = ANY(ARRAY(
  SELECT e.entry FROM keys k CROSS JOIN LATERAL (
    SELECT entry FROM @outbox WHERE store_key = k.store_key AND held_until IS NOT NULL AND held_until <= $3::bigint
    ORDER BY store_key, held_until LIMIT 1000 FOR UPDATE SKIP LOCKED
  ) AS e));
