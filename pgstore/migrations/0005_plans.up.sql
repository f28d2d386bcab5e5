-- The condition of jobs_listed holds for every job. It keeps the index out of the plans of
-- statements that do not name it: it has a queue's jobs of all states, and while few are
-- finished, the planner takes it for as good as the index of those that wait.
DROP INDEX @jobs_listed;
CREATE INDEX #jobs_listed ON @jobs (queue, name, enqueued_at) WHERE ledger >= 0;

-- Lists look at metadata where they read; each job paid for this index.
DROP INDEX @jobs_metadata;
