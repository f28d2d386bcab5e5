WITH gone AS (DELETE FROM @outbox WHERE entry = ANY($1::bigint[]) RETURNING 1)
INSERT INTO @changes (queue, name, state, jobs) SELECT '', '', 0, -count(*) FROM gone HAVING count(*) > 0;
