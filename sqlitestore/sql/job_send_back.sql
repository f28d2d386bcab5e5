-- Makes a job waiting, delayed or parked; without a new seq it keeps its place.
UPDATE braid_jobs SET state = ?2, run_at = ?3, seq = ifnull(?4, seq), attempts_made = ?5, stalled_count = ?6, ledger = ?7,
  token = NULL, locked_by = NULL, lock_expires_at = NULL, cancel_requested = 0, staged = NULL
WHERE job = ?1;
