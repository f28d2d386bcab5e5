-- Keeps how many jobs there are in each state, once a minute.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings; 3: the number of the minute; 4: that of the latest minute
--          to delete
-- RETURNS  1
-- uses: base

local minute = ARGV[3]
redis.call('ZREMRANGEBYSCORE', DEPTHS, '-inf', ARGV[4])
if setting('t') and redis.call('ZCOUNT', DEPTHS, minute, minute) == 0 then
  local counts = redis.call('HMGET', COUNTS, 1, 2, 3, 4, 5, 6, 7)
  for state = 1, 7 do
    counts[state] = counts[state] or '0'
  end
  redis.call('ZADD', DEPTHS, minute, minute .. ' ' .. table.concat(counts, ' '))
end
return 1
