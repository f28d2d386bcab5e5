-- Reads a schedule.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings; 3: the key
-- RETURNS  the schedule, packed; an empty string if there is none
-- uses: base

return redis.call('GET', SCHEDULE .. ARGV[3]) or ''
