-- Locks jobs that a dedup replace may rewrite, but for those that others have.
SELECT id FROM @jobs WHERE id = ANY($1::text[]) AND state + 0 = 2 AND flow IS NULL ORDER BY id FOR NO KEY UPDATE SKIP LOCKED;
