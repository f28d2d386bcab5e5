-- Claims the prefix for the format, and tells what to do about the list indexes.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings; 3: the format of the program
-- RETURNS  the stored format, which is now at least the program's; the mark of the list
--          index by name, that by queue: the time of enqueue up to which it is known to be
--          complete, empty if it is off or has to be built; the number of the latest wake
-- uses: base

local stored = redis.call('HGET', META, 'format')
if not stored then
  redis.call('HSET', META, 'format', ARGV[3])
  stored = ARGV[3]
end
if tonumber(stored) > tonumber(ARGV[3]) then
  return { stored, '', '', '0' }
end
local reply = { stored }
for _, letter in ipairs({ 'n', 'q' }) do
  local mark = 'index:' .. letter
  if not setting(letter) then
    redis.call('HDEL', META, mark)
  end
  reply[#reply + 1] = redis.call('HGET', META, mark) or ''
end
reply[4] = redis.call('HGET', WAKES, '') or '0'
return reply
