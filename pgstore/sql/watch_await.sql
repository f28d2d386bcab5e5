-- Waits for whoever is ending the job.
SELECT 1 FROM @jobs WHERE id = $1::text FOR SHARE;
