-- Reads workers that are alive, in order of their ids.
--
-- KEYS     1: the prefix
-- ARGV     1: now; 2: settings; 3: the beginning, as ZRANGEBYLEX wants it; 4: how many to
--          look at at most; 5: how many bytes of records at most
-- RETURNS  the last id that was looked at (empty: none is left); then the records
-- uses: base

local room = tonumber(ARGV[5])
local reply = { '' }
for _, id in ipairs(redis.call('ZRANGEBYLEX', WORKERS, ARGV[3], '+', 'LIMIT', 0, ARGV[4])) do
  local record = redis.call('HGET', WORKER, id)
  if record and number(record) > now then
    if #reply > 1 and #record > room then
      break
    end
    room = room - #record
    reply[#reply + 1] = string.sub(record, 9)
  end
  reply[1] = id
end
return reply
