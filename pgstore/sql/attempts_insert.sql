INSERT INTO @attempts (id, attempt, started_at, finished_at, outcome, worker, exit)
SELECT u.* FROM unnest($1::text[], $2::int[], $3::bigint[], $4::bigint[], $5::smallint[], $6::text[], $7::text[])
  AS u (id, attempt, started_at, finished_at, outcome, worker, exit)
WHERE EXISTS (SELECT 1 FROM @jobs j WHERE j.id = u.id);
