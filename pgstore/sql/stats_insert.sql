INSERT INTO @stat_changes (minute, queue, outcome, runs, run_time, wait_time)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::smallint[], $4::bigint[], $5::bigint[], $6::bigint[]);
