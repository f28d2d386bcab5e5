-- Locks the entries of keys that the transaction may change: those that do not hold at $5,
-- and those whose job or window the caller may rewrite. An entry that merely holds is not
-- locked: a transaction that stays open would keep its job from ending.
SELECT d.name, d.key
FROM unnest($1::text[], $2::text[], $3::boolean[], $4::boolean[]) AS u (name, key, replaces, extends)
JOIN @dedupe d ON d.name = u.name AND d.key = u.key
LEFT JOIN @jobs j ON d.owned AND j.id = d.id
WHERE CASE WHEN d.expires_at IS NULL THEN NOT d.owned OR coalesce(j.state + 0 >= 5, true)
           ELSE u.extends OR d.expires_at <= $5::bigint END
  OR u.replaces AND coalesce(j.state + 0 = 2 AND j.flow IS NULL, false)
ORDER BY d.name, d.key FOR UPDATE OF d;
