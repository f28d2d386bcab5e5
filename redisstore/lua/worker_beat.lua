-- Stores a worker's record, and deletes some that have expired.
--
-- KEYS     1: the prefix
-- ARGV     1: now; 2: settings; 3: id; 4: expiresAt (8 bytes); 5: the record; 6: how many
--          expired ones to delete at most
-- RETURNS  1
-- uses: base

local id = ARGV[3]
for _, expired in ipairs(redis.call('ZRANGEBYSCORE', LAPSES, '-inf', now_text, 'LIMIT', 0, ARGV[6])) do
  redis.call('ZREM', LAPSES, expired)
  redis.call('ZREM', WORKERS, expired)
  redis.call('HDEL', WORKER, expired)
end
redis.call('ZADD', LAPSES, score_text(number(ARGV[4])), id)
redis.call('ZADD', WORKERS, 0, id)
redis.call('HSET', WORKER, id, ARGV[4] .. ARGV[5])
return 1
