-- Jobs with their ledgers, what is counted of them, and who waits for their end.
--
-- Times are milliseconds since the epoch. States: 1 waiting, 2 delayed, 3 active,
-- 4 waiting-children, 5 completed, 6 failed, 7 cancelled. Text is compared by its
-- bytes.

-- What orders things: seq, turns, entries of the outbox, flows and children draw
-- from one sequence, whose values mean nothing else.
CREATE SEQUENCE @numbers;

-- Ids that the store assigns are j-<n>. A process draws a hundred at a time.
CREATE SEQUENCE @ids INCREMENT BY 100;

CREATE TABLE @jobs (
  seq bigint NOT NULL,
  run_at bigint NOT NULL,
  enqueued_at bigint NOT NULL,
  processed_at bigint,
  lock_expires_at bigint,
  finished_at bigint,
  turn bigint, -- of the latest claim while active, of the finish while terminal
  expires_at bigint, -- when its own keep lets it go
  flow bigint, -- in flows, once its fan-out has landed
  staged bigint, -- in flows: the children that are staged under the token
  priority int NOT NULL,
  attempts_max int NOT NULL,
  attempts_made int NOT NULL DEFAULT 0,
  stalled_count int NOT NULL DEFAULT 0,
  ledger int NOT NULL DEFAULT 0, -- entries in attempts
  state smallint NOT NULL,
  outcome smallint, -- while terminal, the last entry of the ledger lies here
  ran boolean NOT NULL DEFAULT false, -- whether that entry is of a run
  cancel_requested boolean NOT NULL DEFAULT false,
  owing boolean NOT NULL DEFAULT false, -- owes cascades, so retention leaves it alone
  dedupe_ttl boolean NOT NULL DEFAULT false,
  plain boolean NOT NULL, -- its end touches no other row but its dedup key
  id text COLLATE "C" NOT NULL,
  queue text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  token text COLLATE "C", -- of the lock, while active
  locked_by text COLLATE "C", -- while active; while terminal, who ran the last run
  failed_reason text COLLATE "C",
  dedupe_key text COLLATE "C",
  settings text COLLATE "C", -- backoff, keep, timeout
  trace text COLLATE "C",
  parent text COLLATE "C",
  metadata jsonb,
  payload text COLLATE "C",
  exit text COLLATE "C",
  PRIMARY KEY (id)
) WITH (
  -- Every run rewrites its row twice. Vacuum must keep up with that, and statistics
  -- with a queue that fills and empties.
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0,
  fillfactor = 90
);
-- No index but the primary key has ids, so that none but it comes into question where jobs
-- are looked up by their ids. Ties of times are sorted where they are read.
CREATE INDEX #jobs_listed ON @jobs (queue, name, enqueued_at);
CREATE INDEX #jobs_waiting ON @jobs (queue, name, priority DESC, seq) WHERE state = 1;
CREATE INDEX #jobs_delayed ON @jobs (queue, run_at, seq) WHERE state = 2;
CREATE INDEX #jobs_active ON @jobs (lock_expires_at) WHERE state = 3;
CREATE INDEX #jobs_parked ON @jobs (enqueued_at) WHERE state = 4;
CREATE INDEX #jobs_finished ON @jobs (name, state, owing, finished_at, turn) WHERE state >= 5;
CREATE INDEX #jobs_expiring ON @jobs (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX #jobs_cancels ON @jobs (id) WHERE cancel_requested;
CREATE INDEX #jobs_metadata ON @jobs USING gin (metadata jsonb_path_ops) WHERE metadata IS NOT NULL;

-- The ledgers, but for the last entries of terminal jobs.
CREATE TABLE @attempts (
  id text COLLATE "C" NOT NULL,
  attempt int NOT NULL,
  started_at bigint,
  finished_at bigint NOT NULL,
  outcome smallint NOT NULL,
  worker text COLLATE "C",
  exit text COLLATE "C",
  PRIMARY KEY (id, attempt)
);

-- How many jobs there are per queue, name and state: counts, plus changes that were
-- not folded into them yet. State 10 + n counts those of state n that owe cascades;
-- state 0 of the empty queue and name counts the entries of the outbox.
CREATE TABLE @counts (
  queue text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  state smallint NOT NULL,
  jobs bigint NOT NULL,
  PRIMARY KEY (queue, name, state)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, fillfactor = 50);
CREATE INDEX #counts_named ON @counts (name, state);
CREATE TABLE @changes (
  jobs int NOT NULL,
  state smallint NOT NULL,
  queue text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE @paused (
  queue text COLLATE "C" PRIMARY KEY
);

-- Where trims for keep stopped at their limit: jobs that finished before this place
-- of their group are to go.
CREATE TABLE @trims (
  name text COLLATE "C" NOT NULL,
  state smallint NOT NULL,
  finished_at bigint NOT NULL,
  turn bigint NOT NULL,
  PRIMARY KEY (name, state)
);

-- Which job a dedup key belongs to. Without expires_at it holds while that job is not
-- finished. It is not owned once the job is gone, or before it is there.
CREATE TABLE @dedupe (
  name text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  expires_at bigint,
  owned boolean NOT NULL,
  PRIMARY KEY (name, key)
);
CREATE INDEX #dedupe_expiring ON @dedupe (expires_at) WHERE expires_at IS NOT NULL;

-- Who waits for the end of a job, and, once it has ended, how. A crash of the server
-- forgets them, and ends those who wait.
CREATE UNLOGGED TABLE @watches (
  watch bigint PRIMARY KEY,
  ended_at bigint,
  attempts_made int,
  state smallint,
  listener text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  failed_reason text COLLATE "C",
  exit text COLLATE "C"
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE INDEX #watches_open ON @watches (id) WHERE ended_at IS NULL;
CREATE INDEX #watches_ended ON @watches (listener) WHERE ended_at IS NOT NULL;
