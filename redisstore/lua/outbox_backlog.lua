-- Tells how long and how old the outbox is.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings
-- RETURNS  the number of entries; when the first entry's child ended (8 bytes), or an empty
--          string
-- uses: block

local oldest, first = '', nil
for _, store in ipairs(redis.call('SMEMBERS', BOXES)) do
  local key = redis.call('ZRANGE', BOX .. store, 0, 0)[1]
  local block = key and redis.call('HGET', OUTBOX, key)
  if block and (not first or number(block_id(block, 1)) < first) then
    oldest, first = block_time(block), number(block_id(block, 1))
  end
end
return { redis.call('HGET', META, 'reports') or '0', oldest }
