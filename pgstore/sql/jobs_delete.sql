-- Deletes jobs with their ledgers.
WITH ledgers AS (DELETE FROM @attempts WHERE id = ANY($1::text[]))
DELETE FROM @jobs WHERE id = ANY($1::text[]);
