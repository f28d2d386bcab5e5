-- Entries of keys, with what is to be known of their jobs. It follows dedupe_lock, which
-- saw the jobs as they were before it waited. A window may outlive its job unnoticed, and
-- another job may have the same id since.
SELECT d.name, d.key, d.id, d.owned, d.expires_at, j.state, j.flow IS NOT NULL
FROM unnest($1::text[], $2::text[]) AS u (name, key) JOIN @dedupe d ON d.name = u.name AND d.key = u.key
LEFT JOIN @jobs j ON d.owned AND j.id = d.id AND j.name = d.name AND j.dedupe_key = d.key;
