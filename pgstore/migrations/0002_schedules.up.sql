CREATE TABLE @schedules (
  key text COLLATE "C" PRIMARY KEY,
  job_name text COLLATE "C" NOT NULL,
  queue text COLLATE "C" NOT NULL,
  cron text COLLATE "C" NOT NULL,
  tz text COLLATE "C" NOT NULL,
  every bigint NOT NULL,
  payload text COLLATE "C",
  metadata jsonb,
  priority int NOT NULL,
  attempts_max int NOT NULL,
  settings text COLLATE "C",
  overlap smallint NOT NULL,
  group_name text COLLATE "C" NOT NULL,
  next_run_at bigint NOT NULL,
  last_job_id text COLLATE "C" NOT NULL
);
CREATE INDEX #schedules_due ON @schedules (next_run_at, key);
