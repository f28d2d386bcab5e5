-- Frees keys without window, if their jobs still own them.
DELETE FROM @dedupe d USING (
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) AS u (name, key, id) ORDER BY u.name COLLATE "C", u.key COLLATE "C"
) AS u
WHERE d.name = u.name AND d.key = u.key AND d.id = u.id AND d.owned AND d.expires_at IS NULL;
