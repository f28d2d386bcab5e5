-- The last entries of terminal jobs' ledgers leave the jobs' rows.
INSERT INTO @attempts (id, attempt, started_at, finished_at, outcome, worker, exit)
SELECT id, ledger + 1, CASE WHEN ran THEN processed_at END, finished_at, outcome, CASE WHEN ran THEN locked_by END, exit
FROM @jobs WHERE id = ANY($1::text[]);
