DROP INDEX braid_jobs_delayed_listed;
