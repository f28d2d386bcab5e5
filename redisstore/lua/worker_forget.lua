-- Deletes a worker's record.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings; 3: id
-- RETURNS  1 if there was one, else 0
-- uses: base

redis.call('ZREM', LAPSES, ARGV[3])
redis.call('ZREM', WORKERS, ARGV[3])
return redis.call('HDEL', WORKER, ARGV[3])
