-- The delayed jobs of a queue as they are listed: any number of them may be due at one
-- time, which the index in the order of their promotion would have to sort by id.
CREATE INDEX braid_jobs_delayed_listed ON braid_jobs (queue, run_at, id) WHERE state = 2;
