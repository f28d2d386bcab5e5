-- As outbox_peek, of entries that nobody holds; they are held until $6.
WITH RECURSIVE all_keys (store_key) AS (
  (SELECT store_key FROM @outbox WHERE $2::boolean ORDER BY store_key LIMIT 1)
  UNION ALL
  SELECT (SELECT o.store_key FROM @outbox o WHERE o.store_key > k.store_key ORDER BY o.store_key LIMIT 1)
  FROM all_keys k WHERE k.store_key IS NOT NULL
), keys AS MATERIALIZED (
  SELECT store_key FROM all_keys WHERE store_key IS NOT NULL UNION SELECT * FROM unnest($1::text[])
), first AS MATERIALIZED (
  SELECT e.* FROM keys k CROSS JOIN LATERAL (
    SELECT entry, octet_length(exit) AS exit_size, octet_length(failed_reason) AS reason_size
    FROM @outbox WHERE store_key = k.store_key AND entry > $3::bigint AND held_until IS NULL
    ORDER BY entry LIMIT $4::int FOR UPDATE SKIP LOCKED
  ) AS e ORDER BY e.entry LIMIT $4::int
), page AS MATERIALIZED (
  SELECT entry FROM (
    SELECT entry, row_number() OVER w AS place, sum(coalesce(exit_size, 0) + coalesce(reason_size, 0)) OVER w AS total
    FROM first WINDOW w AS (ORDER BY entry)
  ) AS sized WHERE place = 1 OR total <= $5::bigint
), held AS (
  UPDATE @outbox o SET held_until = $6::bigint WHERE o.entry = ANY(ARRAY(SELECT entry FROM page))
  RETURNING o.*
)
SELECT o.entry, o.at, o.flow_name, o.store_key, o.flow_id, o.child_key, o.outcome, o.job_id, o.failed_reason, o.exit FROM held o ORDER BY o.entry;
