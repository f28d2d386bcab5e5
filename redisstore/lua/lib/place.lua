-- Where a job lies: the orders of its state, the counters, the list indexes.
-- uses: record, lane

-- ranked is a job's member in the orders where its seq decides.
local function ranked(job)
  return job.seq .. job.id
end

local function lane_of(job)
  return lane_key(job.queue, job.name)
end

-- attach enters a job into the orders of its state, and counts it.
local function attach(job)
  local state = job.state
  if state == WAITING then
    zadd(lane_of(job), -job.priority, ranked(job))
    sadd(LANES .. job.queue, job.name)
  elseif state == DELAYED_STATE then
    local at = number(job.runAt)
    zadd(DELAYED .. job.queue, at, ranked(job))
    zadd(RUNAT .. job.queue, at, job.id)
  elseif state == PARKED_STATE then
    zadd(PARKED, number(job.enqueuedAt), job.id)
  end
  count(job.queue, state, 1)
  save(job)
end

-- detach takes a job out of the orders of its state. It comes before any change of what
-- these depend on, and attach after that.
local function detach(job)
  local state = job.state
  if state == WAITING then
    zrem(lane_of(job), ranked(job))
  elseif state == DELAYED_STATE then
    zrem(DELAYED .. job.queue, ranked(job))
    zrem(RUNAT .. job.queue, job.id)
  elseif state == ACTIVE_STATE then
    local actives = bulk('ZREM', ACTIVE)
    actives[#actives + 1] = job.id
  elseif state == PARKED_STATE then
    zrem(PARKED, job.id)
  end
  count(job.queue, state, -1)
end
