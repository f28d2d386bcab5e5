-- Reads stats, whole minutes at a time.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings; 3, 4: from which minute to which, both included (numbers
--          of minutes since the epoch); 5: after how many fields to end
-- RETURNS  the number of the minute to go on with, or empty; then for each minute: its
--          number; how many strings follow; fields and values in turn, as lib/stats.lua says
-- uses: base

local last, room = ARGV[4], tonumber(ARGV[5])
local reply = { '' }
for _, minute in ipairs(redis.call('ZRANGEBYSCORE', MINUTES, ARGV[3], last, 'LIMIT', 0, 1441)) do
  if room <= 0 then
    reply[1] = minute
    break
  end
  local fields = redis.call('HGETALL', STATS .. minute)
  reply[#reply + 1] = minute
  reply[#reply + 1] = #fields
  for _, text in ipairs(fields) do
    reply[#reply + 1] = text
  end
  room = room - #fields / 2
end
return reply
