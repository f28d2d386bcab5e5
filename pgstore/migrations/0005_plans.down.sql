CREATE INDEX #jobs_metadata ON @jobs USING gin (metadata jsonb_path_ops) WHERE metadata IS NOT NULL;
DROP INDEX @jobs_due;
DROP INDEX @jobs_listed;
CREATE INDEX #jobs_listed ON @jobs (queue, name, enqueued_at);
