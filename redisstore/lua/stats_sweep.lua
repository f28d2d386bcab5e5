-- Deletes the stats of old minutes.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings; 3: the number of the latest minute to delete; 4: after how
--          many stats to end
-- RETURNS  how many were deleted; 1 if there may be more, else 0
-- uses: base

local limit = tonumber(ARGV[4])
local deleted = 0
while true do
  local minute = redis.call('ZRANGEBYSCORE', MINUTES, '-inf', ARGV[3], 'LIMIT', 0, 1)[1]
  if not minute then
    return { deleted, 0 }
  end
  if deleted >= limit then
    return { deleted, 1 }
  end
  local key = STATS .. minute
  deleted = deleted + redis.call('HLEN', key) / 3
  redis.call('UNLINK', key)
  redis.call('ZREM', MINUTES, minute)
end
