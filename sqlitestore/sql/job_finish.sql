-- Every terminal transition. The last entry of the ledger stays on the row.
UPDATE braid_jobs SET state = ?2, attempts_made = ?3, stalled_count = ?4, finished_at = ?5, turn = ?6, outcome = ?7,
  ran_from = ?8, ran_by = ?9, failed_reason = ?10, owing = ?11, expires_at = ?12, exit = ?13,
  token = NULL, locked_by = NULL, lock_expires_at = NULL, cancel_requested = 0, staged = NULL
WHERE job = ?1;
