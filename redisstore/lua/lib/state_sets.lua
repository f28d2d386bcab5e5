-- Finding the jobs of some states through the states' own orders, where those hold
-- little.
-- uses: place

-- gather_states puts the jobs of some states into a sorted set of its own by their
-- enqueuedAt, if there are at most so many, and tells whether it did. The set is gone
-- when the call ends.
local function gather_states(states, queue, most)
  local total = 0
  for i = 1, #states do
    local digit = string.sub(states, i, i)
    local n = queue == '' and redis.call('HGET', COUNTS, digit) or queue ~= '' and redis.call('HGET', COUNTSQ .. queue, digit)
    total = total + tonumber(n or 0)
  end
  if total > most or total >= redis.call('ZCARD', LIST) then
    return false
  end

  local queues, ids = { queue }, {}
  if queue == '' then
    if redis.call('ZCARD', QUEUES) > most then
      return false
    end
    queues = redis.call('ZRANGE', QUEUES, 0, -1)
  end
  local function collect(key, skip)
    local members = redis.call('ZRANGE', key, 0, most)
    for _, member in ipairs(members) do
      ids[#ids + 1] = string.sub(member, skip + 1)
    end
    return #members <= most
  end
  local all = true
  for i = 1, #states do
    local state = tonumber(string.sub(states, i, i))
    if state == WAITING then
      for _, q in ipairs(queues) do
        for _, name in ipairs(redis.call('SMEMBERS', LANES .. q)) do
          if redis.call('EXISTS', LANE .. scoped(q, name)) == 0 then
            srem(LANES .. q, name)
          else
            all = collect(LANE .. scoped(q, name), 8) and all
          end
        end
      end
    elseif state == DELAYED_STATE then
      for _, q in ipairs(queues) do
        all = collect(RUNAT .. q, 0) and all
      end
    elseif state == ACTIVE_STATE then
      all = collect(ACTIVE, 0) and all
    elseif state == PARKED_STATE then
      all = collect(PARKED, 0) and all
    else
      all = collect(ENDED .. state, 0) and collect(OWING .. state, 0) and all
    end
  end
  if not all then
    return false
  end
  load(ids)
  local entries = {}
  for _, id in ipairs(ids) do
    if jobs[id] then
      entries[#entries + 1] = number(jobs[id].enqueuedAt)
      entries[#entries + 1] = id
    end
  end
  if #entries > 0 then
    each('ZADD', SCRATCH, entries)
  end
  return true
end
