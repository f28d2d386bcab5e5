-- The last entry of a terminal job's ledger leaves the job's row.
INSERT INTO braid_attempts (job, attempt, started_at, finished_at, outcome, worker, exit)
SELECT job, ledger + 1, ran_from, finished_at, outcome, ran_by, exit FROM braid_jobs WHERE job = ?1;
