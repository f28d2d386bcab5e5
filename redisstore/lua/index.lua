-- Enters a page of jobs into the list indexes that are on, by the order of all jobs.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings; 3, 4: time and id of the place to go on behind; an empty
--          id: from the time on; 5: how many jobs to look at
-- RETURNS  time and id of the last job looked at; an empty id if none is left
-- uses: sources

redis.call('UNLINK', PREFIX)

local source
if ARGV[4] == '' then
  local rank = redis.call('ZCOUNT', LIST, '-inf', '(' .. ARGV[3])
  source = { key = LIST, ascending = true, rank = rank }
  source = read_block(source) and source
  if source then
    look(source)
  end
else
  source = open_source(LIST, true, { score = ARGV[3], id = ARGV[4] })
end
local ids, score = {}, ARGV[3]
while source and #ids < tonumber(ARGV[5]) do
  ids[#ids + 1], score = source.id, source.text
  source = advance(source) and source
end
load(ids)
for _, id in ipairs(ids) do
  local job = jobs[id]
  if not job then
    zrem(LIST, id)
  else
    local at = number(job.enqueuedAt)
    if setting('n') then
      zadd(LISTN .. job.name, at, id)
    end
    if setting('q') then
      zadd(LISTQ .. job.queue, at, id)
    end
  end
end
finish_call()
return { score, source and ids[#ids] or '' }
