-- Counts the waiting jobs ahead of one in its queue.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings; 3: id; 4: how far to count
-- RETURNS  how many there are; −1: no such job; −2: the job is not waiting
-- uses: place

local job, limit = get(ARGV[3]), tonumber(ARGV[4])
if not job then
  return -1
elseif job.state ~= WAITING then
  return -2
end
local score, seq = -job.priority, number(job.seq)

-- ahead_in counts those of one lane, by bisection.
local function ahead_in(lane, size)
  local low, high = 0, math.min(size, limit)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local found = redis.call('ZRANGE', lane, middle, middle, 'WITHSCORES')
    local other = tonumber(found[2])
    if other < score or other == score and number(found[1]) < seq then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

local ahead = 0
for _, name in ipairs(redis.call('SMEMBERS', LANES .. job.queue)) do
  local lane = LANE .. scoped(job.queue, name)
  local size = redis.call('ZCARD', lane)
  if size > 0 then
    ahead = ahead + ahead_in(lane, size)
  end
end
return math.min(ahead, limit)
