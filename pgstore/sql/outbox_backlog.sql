WITH RECURSIVE keys (store_key) AS (
  (SELECT store_key FROM @outbox ORDER BY store_key LIMIT 1)
  UNION ALL
  SELECT (SELECT o.store_key FROM @outbox o WHERE o.store_key > k.store_key ORDER BY o.store_key LIMIT 1)
  FROM keys k WHERE k.store_key IS NOT NULL
)
SELECT (SELECT coalesce(sum(jobs), 0)::bigint FROM (
    SELECT jobs FROM @counts WHERE queue = '' AND name = '' AND state = 0
    UNION ALL SELECT jobs FROM @changes WHERE queue = '' AND name = '' AND state = 0
  ) AS c),
  (SELECT e.at FROM keys k CROSS JOIN LATERAL (
    SELECT entry, at FROM @outbox WHERE store_key = k.store_key ORDER BY entry LIMIT 1) AS e ORDER BY e.entry LIMIT 1);
