-- Tells whether a queue was woken since, and else asks for a message at the next wake.
-- The caller has subscribed to the channels before.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings; 3: the number of a wake; then the queues
-- RETURNS  1 if one of the queues was woken after that, else 0
-- uses: base

redis.call('UNLINK', PREFIX)

local since = tonumber(ARGV[3])
local queues = {}
for i = 4, #ARGV do
  queues[#queues + 1] = ARGV[i]
end
if since > tonumber(redis.call('HGET', WAKES, '') or 0) then
  return 1 -- the cursor is of a store that was lost
end
for _, turn in ipairs(redis.call('HMGET', WAKES, unpack(queues))) do
  if turn and tonumber(turn) > since then
    return 1
  end
end
redis.call('SADD', ARMED, unpack(queues))
return 0
