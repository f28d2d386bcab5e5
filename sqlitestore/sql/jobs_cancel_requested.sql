-- Few: they leave when their worker has noticed.
SELECT id FROM braid_jobs WHERE cancel_requested = 1;
