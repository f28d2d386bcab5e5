-- Enters or removes a watcher of some jobs' ends.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings; 3: the watcher, 16 bytes; 4: "1" to enter, "0" to remove;
--          then the ids
-- RETURNS  0
-- uses: base

redis.call('UNLINK', PREFIX)

for i = 5, #ARGV do
  local list = redis.call('HGET', WATCHED, ARGV[i]) or ''
  local others = {}
  for from = 1, #list, 16 do
    local watcher = string.sub(list, from, from + 15)
    if watcher ~= ARGV[3] then
      others[#others + 1] = watcher
    end
  end
  if ARGV[4] == '1' then
    others[#others + 1] = ARGV[3]
  end
  if #others > 0 then
    redis.call('HSET', WATCHED, ARGV[i], table.concat(others))
  else
    redis.call('HDEL', WATCHED, ARGV[i])
  end
end
return 0
