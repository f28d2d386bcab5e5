INSERT INTO @changes (queue, name, state, jobs)
SELECT * FROM unnest($1::text[], $2::text[], $3::smallint[], $4::int[]);
