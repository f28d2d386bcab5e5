-- Deletes dedup entries whose window has closed.
--
-- KEYS     1: the prefix
-- ARGV     1: now; 2: settings; 3: how many to delete at most
-- RETURNS  how many were deleted; 1 if there may be more, else 0
-- uses: dedupe

local limit = tonumber(ARGV[3])
local members = redis.call('ZRANGEBYSCORE', WINDOWS, '-inf', now, 'LIMIT', 0, limit + 1)
local more = #members > limit and 1 or 0
members[limit + 1] = nil
for _, member in ipairs(members) do
  local value = redis.call('GET', DEDUPE .. member)
  if not value then
    zrem(WINDOWS, member)
  elseif string.byte(value, 9) == 1 and number(value) <= now then
    zrem(WINDOWS, member)
    erase(DEDUPE .. member)
  elseif string.byte(value, 9) == 1 then
    zadd(WINDOWS, number(value), member)
  else
    zrem(WINDOWS, member)
  end
end
finish_call()
return { #members, more }
