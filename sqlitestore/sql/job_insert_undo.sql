-- Takes back what job_insert_ten has inserted behind a row.
DELETE FROM braid_jobs WHERE job > ?1;
