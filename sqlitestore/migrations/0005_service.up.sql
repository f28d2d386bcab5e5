-- What people look at: the workers that are alive, and the runs of the last day.

-- A worker's record is JSON, since nothing but its expiry is searched for.
CREATE TABLE braid_workers (
  id TEXT PRIMARY KEY,
  expires_at INTEGER NOT NULL,
  record TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX braid_workers_expiring ON braid_workers (expires_at);

-- The runs that ended in a minute, which is named by its first millisecond: how many,
-- and the sums of their run times and waits in milliseconds.
CREATE TABLE braid_stats (
  minute INTEGER NOT NULL,
  queue TEXT NOT NULL,
  outcome INTEGER NOT NULL,
  runs INTEGER NOT NULL,
  run_time INTEGER NOT NULL,
  wait_time INTEGER NOT NULL,
  PRIMARY KEY (minute, queue, outcome)
) STRICT, WITHOUT ROWID;

-- How many jobs there were in each state at some time of a minute, as a JSON object.
CREATE TABLE braid_depths (
  minute INTEGER PRIMARY KEY,
  counts TEXT NOT NULL
) STRICT;
