-- How many pages of an index this session has read since it last told the server's
-- statistics. Without track_counts it is 0.
SELECT coalesce(pg_stat_get_xact_blocks_fetched(to_regclass($1::text)), 0)::bigint;
