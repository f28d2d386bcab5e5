-- Deletes a schedule.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings; 3: the key
-- RETURNS  1 if there was one, else 0
-- uses: base

redis.call('ZREM', SCHEDULES, ARGV[3])
redis.call('ZREM', DUE, ARGV[3])
return redis.call('UNLINK', SCHEDULE .. ARGV[3])
