-- Flows: parents' runs with their children, and the outbox of children's outcomes.

-- The children of one run of a parent: staged, landed, or abandoned.
CREATE TABLE @flows (
  flow bigint PRIMARY KEY,
  children bigint NOT NULL DEFAULT 0,
  pending bigint NOT NULL DEFAULT 0,
  completed bigint NOT NULL DEFAULT 0,
  failed bigint NOT NULL DEFAULT 0,
  cancelled bigint NOT NULL DEFAULT 0,
  owed bigint NOT NULL DEFAULT 0, -- children that are cancelled and not cascaded
  landed_at bigint,
  armed_at bigint,
  turn bigint NOT NULL DEFAULT 0, -- its place among those of the same standing
  asked_turn bigint, -- its place among those with owed children that were returned
  -- What a sweep has to do: 0 nothing, 1 pending children from armed_at on,
  -- 2 pending children now, 3 owed children that it has not returned, 4 delete.
  standing smallint NOT NULL DEFAULT 0,
  fail_fast boolean NOT NULL DEFAULT false,
  settled_early boolean NOT NULL DEFAULT false, -- pending children read as cancelled and not cascaded
  job_id text COLLATE "C" NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX #flows_armed ON @flows (armed_at, turn) WHERE standing = 1;
CREATE INDEX #flows_due ON @flows (turn) WHERE standing = 2;
CREATE INDEX #flows_owed ON @flows (turn) WHERE standing = 3;
CREATE INDEX #flows_abandoned ON @flows (turn) WHERE standing = 4;
CREATE INDEX #flows_asked ON @flows (asked_turn) WHERE asked_turn IS NOT NULL;

CREATE TABLE @children (
  flow bigint NOT NULL,
  armed_at bigint,
  turn bigint,
  status smallint NOT NULL DEFAULT 1, -- 1 pending, 2 completed, 3 failed, 4 cancelled
  -- Where a sweep finds it: 0 nowhere, 1 fresh, 2 returned while pending, 3 returned
  -- as owed.
  place smallint NOT NULL DEFAULT 1,
  cascaded boolean NOT NULL DEFAULT false,
  child_key text COLLATE "C" NOT NULL,
  store_key text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  job_id text COLLATE "C" NOT NULL,
  failed_reason text COLLATE "C",
  exit text COLLATE "C",
  PRIMARY KEY (flow, child_key)
);
CREATE INDEX #children_fresh ON @children (flow, child_key) WHERE place = 1;
CREATE INDEX #children_returned ON @children (flow, armed_at, turn) WHERE place = 2;
CREATE INDEX #children_asked ON @children (flow, turn) WHERE place = 3;

-- What the children ask for, apart from the rows that reports rewrite.
CREATE TABLE @requests (
  flow bigint NOT NULL,
  child_key text COLLATE "C" NOT NULL,
  request text COLLATE "C" NOT NULL,
  payload text COLLATE "C",
  PRIMARY KEY (flow, child_key)
);

CREATE TABLE @outbox (
  entry bigint NOT NULL,
  at bigint NOT NULL,
  held_until bigint,
  outcome smallint NOT NULL,
  flow_name text COLLATE "C" NOT NULL,
  store_key text COLLATE "C" NOT NULL,
  flow_id text COLLATE "C" NOT NULL,
  child_key text COLLATE "C" NOT NULL,
  job_id text COLLATE "C" NOT NULL,
  failed_reason text COLLATE "C",
  exit text COLLATE "C",
  PRIMARY KEY (store_key, entry)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000);
-- By hash, so that nobody walks through the entries of other stores in order.
CREATE INDEX #outbox_entries ON @outbox USING hash (entry);
CREATE INDEX #outbox_ready ON @outbox (store_key, entry) WHERE held_until IS NULL;
CREATE INDEX #outbox_held ON @outbox (store_key, held_until) WHERE held_until IS NOT NULL;
