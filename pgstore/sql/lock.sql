-- Takes locks in their order until the transaction ends.
SELECT count(pg_advisory_xact_lock(key)) FROM (SELECT key FROM unnest($1::bigint[]) AS u (key) ORDER BY key) AS ordered;
