-- Few: they leave when their worker has noticed.
SELECT id FROM @jobs WHERE cancel_requested;
