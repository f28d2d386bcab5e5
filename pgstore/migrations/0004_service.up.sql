-- What people look at: the workers that are alive, and the runs of the last day.

-- A worker's record is JSON, since nothing but its expiry is searched for.
CREATE TABLE @workers (
  expires_at bigint NOT NULL,
  id text COLLATE "C" PRIMARY KEY,
  record text COLLATE "C" NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, fillfactor = 50);
CREATE INDEX #workers_expiring ON @workers (expires_at);

-- The runs that ended in a minute, which is named by its first millisecond: how many,
-- and the sums of their run times and waits in milliseconds. They are those of stats,
-- plus those of changes that were not folded into them yet.
CREATE TABLE @stats (
  minute bigint NOT NULL,
  runs bigint NOT NULL,
  run_time bigint NOT NULL,
  wait_time bigint NOT NULL,
  outcome smallint NOT NULL, -- as in attempts
  queue text COLLATE "C" NOT NULL,
  PRIMARY KEY (minute, queue, outcome)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, fillfactor = 50);
CREATE TABLE @stat_changes (
  minute bigint NOT NULL,
  runs bigint NOT NULL,
  run_time bigint NOT NULL,
  wait_time bigint NOT NULL,
  outcome smallint NOT NULL,
  queue text COLLATE "C" NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- How many jobs there were in each state at some time of a minute, as a JSON object.
CREATE TABLE @depths (
  minute bigint PRIMARY KEY,
  counts text COLLATE "C" NOT NULL
);
