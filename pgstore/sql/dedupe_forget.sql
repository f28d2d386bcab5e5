-- A window outlives its job.
UPDATE @dedupe d SET owned = false
FROM (
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) AS u (name, key, id) ORDER BY u.name COLLATE "C", u.key COLLATE "C"
) AS u
WHERE d.name = u.name AND d.key = u.key AND d.id = u.id AND d.owned;
