-- Deletes rows that no flow can see any more, and does a page of what audits have asked
-- for.
--
-- KEYS     1: the prefix
-- ARGV     1: now; 2: settings; 3: the most rows
-- RETURNS  how many were deleted; 1 if something is left to do, else 0
-- uses: flow_mend

local limit, deleted = tonumber(ARGV[3]), 0
for _ = 1, limit do
  local number_text = redis.call('ZRANGE', ABANDONED, 0, 0)[1]
  if not number_text or deleted == limit then
    break
  end
  local keys = redis.call('ZRANGE', CHILDREN .. number_text, 0, limit - deleted - 1)
  if #keys > 0 then
    redis.call('HDEL', ROWS .. number_text, unpack(keys))
    redis.call('ZREM', CHILDREN .. number_text, unpack(keys))
    deleted = deleted + #keys
  end
  if redis.call('EXISTS', CHILDREN .. number_text) == 0 then
    redis.call('UNLINK', ROWS .. number_text, REQUESTS .. number_text,
      FRESH .. number_text, RETURNED .. number_text, ASKED .. number_text)
    redis.call('ZREM', ABANDONED, number_text)
  end
end
mend(limit)
return { deleted, redis.call('EXISTS', ABANDONED, MENDING) > 0 and 1 or 0 }
