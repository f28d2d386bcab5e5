-- Tells how long and how old the outbox is.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings
-- RETURNS  the number of entries; the first entry, or an empty string
-- uses: base

local first
for _, store in ipairs(redis.call('SMEMBERS', BOXES)) do
  local id = redis.call('ZRANGE', BOX .. store, 0, 0)[1]
  if id and (not first or id < first) then
    first = id
  end
end
return { redis.call('HLEN', OUTBOX), first and redis.call('HGET', OUTBOX, first) or '' }
