-- A dedup replace: id, seq, ledger and queue stay.
UPDATE braid_jobs SET precedence = ?2, attempts_max = ?3, run_at = ?4, metadata = ?5, settings = ?6, trace = ?7, large = ?8,
  payload = ?9
WHERE job = ?1;
