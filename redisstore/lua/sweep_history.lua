-- Deletes finished jobs that have had their time.
--
-- KEYS     1: the prefix
-- ARGV     1: now; 2: settings; 3: how many jobs to delete at most; 4–6: the ceiling, in
--          milliseconds, for completed, failed and cancelled jobs (empty: none)
-- RETURNS  how many were deleted; 1 if there may be more, else 0
-- uses: keep

local limit, deleted, looked = tonumber(ARGV[3]), 0, 0
redis.call('UNLINK', PREFIX)
allow_trims(limit - 100)

-- delete_due deletes the jobs of a sorted set whose time has come and that fit; it takes
-- out what does not.
local function delete_due(key, until_score, fits)
  local ids = redis.call('ZRANGEBYSCORE', key, '-inf', until_score, 'LIMIT', 0, limit - looked)
  looked = looked + #ids
  load(ids)
  for _, id in ipairs(ids) do
    local job = jobs[id]
    if job and fits(job) then
      delete(job)
      deleted = deleted + 1
    else
      zrem(key, id)
    end
  end
  flush_orders()
end

-- What trims left over goes first.
for _, group in ipairs(redis.call('HKEYS', SURPLUS)) do
  if trims_left <= 0 then
    break
  end
  local before = trims_left
  trim_group(group, nil, nil)
  looked = looked + before - trims_left
  deleted = deleted + before - trims_left
  flush_orders()
end
if looked < limit then
  delete_due(EXPIRY, now, function(job)
    return job.retained and terminal(job.state)
  end)
end
for state = COMPLETED, CANCELLED do
  local ceiling = ARGV[state - COMPLETED + 4]
  if ceiling ~= '' and looked < limit then
    delete_due(ENDED .. state, now - tonumber(ceiling), function(job)
      return job.state == state
    end)
  end
end
finish_call()

-- due reports whether a sorted set begins with an entry whose time has come.
local function due(key, until_score)
  local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
  return first[1] and tonumber(first[2]) <= until_score
end

local more = redis.call('EXISTS', SURPLUS) == 1 or due(EXPIRY, now)
for state = COMPLETED, CANCELLED do
  local ceiling = ARGV[state - COMPLETED + 4]
  more = more or ceiling ~= '' and due(ENDED .. state, now - tonumber(ceiling))
end
return { deleted, more and 1 or 0 }
