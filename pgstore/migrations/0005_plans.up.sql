-- The condition of these two holds for every job. It keeps them out of the plans of
-- statements that do not name it. jobs_listed has a queue's jobs of all states, and while
-- few are finished, the planner takes it for as good as the index of those that wait. Both
-- have ids, since what is enqueued by one call has one time, and a page of a list is to
-- read no more than the page.
DROP INDEX @jobs_listed;
CREATE INDEX #jobs_listed ON @jobs (queue, name, enqueued_at, id) WHERE ledger >= 0;
CREATE INDEX #jobs_due ON @jobs (queue, run_at, id) WHERE state = 2 AND ledger >= 0;

-- Lists look at metadata where they read; each job paid for this index.
DROP INDEX @jobs_metadata;
