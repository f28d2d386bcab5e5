-- Inserts nothing if the id is taken.
INSERT INTO braid_jobs (id, state, queue, name, precedence, seq, attempts_max, run_at, enqueued_at, dedupe_key, dedupe_ttl,
  metadata, settings, trace, parent, large, payload)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
ON CONFLICT (id) DO NOTHING;
