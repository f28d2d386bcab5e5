-- Locks the entries of keys, with what is to be known of their jobs.
SELECT d.name, d.key, d.id, d.owned, d.expires_at, j.state, j.flow IS NOT NULL
FROM (
  SELECT d.* FROM unnest($1::text[], $2::text[]) AS u (name, key) JOIN @dedupe d ON d.name = u.name AND d.key = u.key
  ORDER BY d.name, d.key FOR UPDATE OF d
) AS d LEFT JOIN @jobs j ON d.owned AND j.id = d.id;
