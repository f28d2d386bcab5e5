SELECT (SELECT coalesce(sum(jobs), 0)::bigint FROM (
    SELECT jobs FROM @counts WHERE queue = '' AND name = '' AND state = 0
    UNION ALL SELECT jobs FROM @changes WHERE queue = '' AND name = '' AND state = 0
  ) AS c),
  (SELECT at FROM @outbox ORDER BY entry LIMIT 1);
