-- A job's ledger, oldest first. A terminal job has its last entry on its row.
SELECT a.attempt, a.started_at, a.finished_at, a.outcome, a.worker, a.exit
FROM braid_jobs j CROSS JOIN braid_attempts a ON a.job = j.job WHERE j.id = ?1
UNION ALL
SELECT ledger + 1, ran_from, finished_at, outcome, ran_by, exit FROM braid_jobs WHERE id = ?1 AND outcome IS NOT NULL
ORDER BY 1;
