-- Flows: parents' runs with their children, and the outbox of children's outcomes.

-- The children of one run of a parent: staged, landed, or abandoned.
CREATE TABLE braid_flows (
  flow INTEGER PRIMARY KEY,
  job_id TEXT NOT NULL,
  children INTEGER NOT NULL DEFAULT 0,
  fail_fast INTEGER NOT NULL DEFAULT 0,
  pending INTEGER NOT NULL DEFAULT 0,
  completed INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  cancelled INTEGER NOT NULL DEFAULT 0,
  landed_at INTEGER,
  settled_early INTEGER NOT NULL DEFAULT 0, -- pending children read as cancelled and not cascaded
  owed INTEGER NOT NULL DEFAULT 0, -- children that are cancelled and not cascaded
  -- What a sweep has to do: 0 nothing, 1 pending children from armed_at on,
  -- 2 pending children now, 3 owed children that it has not returned, 4 delete.
  standing INTEGER NOT NULL DEFAULT 0,
  armed_at INTEGER,
  turn INTEGER, -- its place among those of the same standing
  asked_turn INTEGER -- its place among those with owed children that were returned
) STRICT;
CREATE INDEX braid_flows_armed ON braid_flows (armed_at, turn) WHERE standing = 1;
CREATE INDEX braid_flows_due ON braid_flows (turn) WHERE standing = 2;
CREATE INDEX braid_flows_owed ON braid_flows (turn) WHERE standing = 3;
CREATE INDEX braid_flows_abandoned ON braid_flows (turn) WHERE standing = 4;
CREATE INDEX braid_flows_asked ON braid_flows (asked_turn) WHERE asked_turn IS NOT NULL;

CREATE TABLE braid_children (
  child INTEGER PRIMARY KEY,
  flow INTEGER NOT NULL,
  child_key TEXT NOT NULL,
  store_key TEXT NOT NULL,
  name TEXT NOT NULL,
  job_id TEXT NOT NULL,
  status INTEGER NOT NULL DEFAULT 1, -- 1 pending, 2 completed, 3 failed, 4 cancelled
  cascaded INTEGER NOT NULL DEFAULT 0,
  -- Where a sweep finds it: 0 nowhere, 1 fresh, 2 returned while pending, 3 returned
  -- as owed.
  place INTEGER NOT NULL DEFAULT 1,
  armed_at INTEGER,
  turn INTEGER,
  failed_reason TEXT,
  exit TEXT
) STRICT;
CREATE UNIQUE INDEX braid_children_keyed ON braid_children (flow, child_key);
CREATE INDEX braid_children_fresh ON braid_children (flow, child_key) WHERE place = 1;
CREATE INDEX braid_children_returned ON braid_children (flow, armed_at, turn) WHERE place = 2;
CREATE INDEX braid_children_asked ON braid_children (flow, turn) WHERE place = 3;

-- What the children ask for, apart from the rows that reports rewrite.
CREATE TABLE braid_child_requests (
  child INTEGER PRIMARY KEY,
  request TEXT NOT NULL,
  payload TEXT
) STRICT;

CREATE TABLE braid_outbox (
  entry INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  flow_name TEXT NOT NULL,
  store_key TEXT NOT NULL,
  flow_id TEXT NOT NULL,
  child_key TEXT NOT NULL,
  outcome INTEGER NOT NULL,
  job_id TEXT NOT NULL,
  held_until INTEGER,
  failed_reason TEXT,
  exit TEXT
) STRICT;
CREATE INDEX braid_outbox_all ON braid_outbox (store_key, entry);
CREATE INDEX braid_outbox_ready ON braid_outbox (store_key, entry) WHERE held_until IS NULL;
CREATE INDEX braid_outbox_held ON braid_outbox (store_key, held_until) WHERE held_until IS NOT NULL;
