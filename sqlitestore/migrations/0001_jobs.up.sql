-- Jobs with their ledgers and payloads, the numbers that are drawn from counters,
-- and how many jobs each queue and name holds.
--
-- Times are milliseconds since the epoch. States: 1 waiting, 2 delayed, 3 active,
-- 4 waiting-children, 5 completed, 6 failed, 7 cancelled.

-- The one row of counters: the latest value drawn of each, but for commits, which
-- counts the transactions that changed something, and outbox, which counts entries.
CREATE TABLE braid_store (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  commits INTEGER NOT NULL DEFAULT 0,
  seq INTEGER NOT NULL DEFAULT 0,
  ids INTEGER NOT NULL DEFAULT 0,
  turns INTEGER NOT NULL DEFAULT 0,
  wakes INTEGER NOT NULL DEFAULT 0,
  entries INTEGER NOT NULL DEFAULT 0,
  outbox INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO braid_store (one) VALUES (1);

-- Queues that hold a job in any state or are paused. wake is the number of the
-- latest wake.
CREATE TABLE braid_queues (
  queue TEXT PRIMARY KEY,
  jobs INTEGER NOT NULL,
  paused INTEGER NOT NULL DEFAULT 0,
  wake INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX braid_queues_woken ON braid_queues (wake);

-- How many jobs there are per queue, name and state; an empty queue or name stands
-- for all of them. State 10 + n counts those of state n that owe cascades.
CREATE TABLE braid_counts (
  queue TEXT NOT NULL,
  name TEXT NOT NULL,
  state INTEGER NOT NULL,
  jobs INTEGER NOT NULL,
  PRIMARY KEY (queue, name, state)
) STRICT, WITHOUT ROWID;

CREATE TABLE braid_jobs (
  job INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  state INTEGER NOT NULL,
  queue TEXT NOT NULL,
  name TEXT NOT NULL,
  precedence INTEGER NOT NULL, -- minus the priority: the lowest runs first
  seq INTEGER NOT NULL,
  attempts_max INTEGER NOT NULL,
  attempts_made INTEGER NOT NULL DEFAULT 0,
  stalled_count INTEGER NOT NULL DEFAULT 0,
  ledger INTEGER NOT NULL DEFAULT 0, -- entries in braid_attempts
  run_at INTEGER NOT NULL,
  enqueued_at INTEGER NOT NULL,
  processed_at INTEGER,
  turn INTEGER, -- of the latest claim while active, of the finish while terminal

  -- The lock, while active.
  token TEXT,
  locked_by TEXT,
  lock_expires_at INTEGER,
  cancel_requested INTEGER NOT NULL DEFAULT 0,
  staged INTEGER, -- the flow whose children are staged under the token

  -- While terminal, the last entry of the ledger lies here, with exit and
  -- finished_at.
  finished_at INTEGER,
  outcome INTEGER,
  ran_from INTEGER,
  ran_by TEXT,
  failed_reason TEXT,
  owing INTEGER NOT NULL DEFAULT 0, -- owes cascades, so retention leaves it alone
  expires_at INTEGER, -- when its own keep lets it go

  dedupe_key TEXT,
  dedupe_ttl INTEGER NOT NULL DEFAULT 0,
  flow INTEGER, -- in braid_flows, once its fan-out has landed
  metadata TEXT,
  settings TEXT, -- backoff, keep, timeout
  trace TEXT,
  parent TEXT,
  large INTEGER NOT NULL DEFAULT 0, -- the payload lies in braid_payloads
  payload TEXT,
  exit TEXT
) STRICT;
CREATE INDEX braid_jobs_listed ON braid_jobs (queue, name, enqueued_at, id);
CREATE INDEX braid_jobs_waiting ON braid_jobs (queue, name, precedence, seq) WHERE state = 1;
CREATE INDEX braid_jobs_delayed ON braid_jobs (queue, run_at, seq) WHERE state = 2;
CREATE INDEX braid_jobs_active ON braid_jobs (lock_expires_at) WHERE state = 3;
CREATE INDEX braid_jobs_parked ON braid_jobs (enqueued_at) WHERE state = 4;
CREATE INDEX braid_jobs_finished ON braid_jobs (name, state, owing, finished_at, turn) WHERE state >= 5;
CREATE INDEX braid_jobs_expiring ON braid_jobs (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX braid_jobs_cancels ON braid_jobs (id) WHERE cancel_requested = 1;

-- Payloads that would make their job's row slow to rewrite.
CREATE TABLE braid_payloads (
  job INTEGER PRIMARY KEY,
  payload TEXT NOT NULL
) STRICT;

-- The ledgers, but for the last entries of terminal jobs.
CREATE TABLE braid_attempts (
  job INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  started_at INTEGER,
  finished_at INTEGER NOT NULL,
  outcome INTEGER NOT NULL,
  worker TEXT,
  exit TEXT,
  PRIMARY KEY (job, attempt)
) STRICT, WITHOUT ROWID;

-- Where trims for keep stopped at their limit: jobs that finished before this place
-- of their group are to go.
CREATE TABLE braid_trims (
  name TEXT NOT NULL,
  state INTEGER NOT NULL,
  finished_at INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  PRIMARY KEY (name, state)
) STRICT, WITHOUT ROWID;

-- Which job a dedup key belongs to. Without expires_at it holds while that job is
-- not finished. job is absent once the job is gone.
CREATE TABLE braid_dedupe (
  name TEXT NOT NULL,
  key TEXT NOT NULL,
  id TEXT NOT NULL,
  job INTEGER,
  expires_at INTEGER,
  PRIMARY KEY (name, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX braid_dedupe_expiring ON braid_dedupe (expires_at) WHERE expires_at IS NOT NULL;

-- A job as every reader wants it.
CREATE VIEW braid_records AS
SELECT j.job, j.id, j.state, j.queue, j.name, j.precedence, j.seq, j.attempts_max, j.attempts_made,
       j.stalled_count, j.run_at, j.enqueued_at, j.processed_at, j.locked_by, j.lock_expires_at,
       j.cancel_requested, j.finished_at, j.failed_reason, j.dedupe_key, j.dedupe_ttl, j.flow,
       j.metadata, j.settings, j.trace, j.parent, j.exit,
       CASE j.large WHEN 0 THEN j.payload ELSE (SELECT p.payload FROM braid_payloads p WHERE p.job = j.job) END AS payload,
       j.turn, j.owing, j.token
FROM braid_jobs j;
