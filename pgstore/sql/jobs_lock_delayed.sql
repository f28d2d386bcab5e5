-- Locks jobs that a dedup replace may rewrite, without waiting for them.
SELECT id FROM @jobs WHERE id = ANY($1::text[]) AND state + 0 = 2 AND flow IS NULL ORDER BY id FOR UPDATE NOWAIT;
