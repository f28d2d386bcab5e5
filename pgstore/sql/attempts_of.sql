-- A job's ledger, oldest first. A terminal job has its last entry on its row.
SELECT attempt::bigint, started_at, finished_at, outcome, worker, exit FROM @attempts WHERE id = $1::text
UNION ALL
SELECT ledger::bigint + 1, CASE WHEN ran THEN processed_at END, finished_at, outcome, CASE WHEN ran THEN locked_by END, exit
FROM @jobs WHERE id = $1::text AND outcome IS NOT NULL
ORDER BY 1;
