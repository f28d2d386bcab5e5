-- A failed job gets a fresh budget.
UPDATE braid_jobs SET state = 1, seq = ?2, run_at = ?3, dedupe_key = ?4, attempts_made = 0, stalled_count = 0, ledger = ledger + 1,
  processed_at = NULL, turn = NULL, finished_at = NULL, outcome = NULL, ran_from = NULL, ran_by = NULL, failed_reason = NULL,
  owing = 0, expires_at = NULL, exit = NULL
WHERE job = ?1;
