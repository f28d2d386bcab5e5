-- Makes entries for keys that have none. It waits for whoever holds one uncommitted.
INSERT INTO @dedupe (name, key, id, owned)
SELECT u.name, u.key, '', false FROM unnest($1::text[], $2::text[]) AS u (name, key) ORDER BY u.name COLLATE "C", u.key COLLATE "C"
ON CONFLICT (name, key) DO NOTHING;
