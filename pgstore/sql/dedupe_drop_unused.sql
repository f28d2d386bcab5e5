DELETE FROM @dedupe d USING unnest($1::text[], $2::text[]) AS u (name, key)
WHERE d.name = u.name AND d.key = u.key AND d.id = '';
