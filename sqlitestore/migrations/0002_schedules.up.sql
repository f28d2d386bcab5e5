CREATE TABLE braid_schedules (
  key TEXT PRIMARY KEY,
  job_name TEXT NOT NULL,
  queue TEXT NOT NULL,
  cron TEXT NOT NULL,
  tz TEXT NOT NULL,
  every INTEGER NOT NULL,
  payload TEXT,
  metadata TEXT,
  priority INTEGER NOT NULL,
  attempts_max INTEGER NOT NULL,
  settings TEXT,
  overlap INTEGER NOT NULL,
  group_name TEXT NOT NULL,
  next_run_at INTEGER NOT NULL,
  last_job_id TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX braid_schedules_due ON braid_schedules (next_run_at, key);
