-- Retention of finished jobs: a group holds those of one name and state, oldest first.
-- uses: delete

-- A job's keep holds for each of completed, failed and cancelled: a byte, 1 with a count,
-- 2 with an age, 3 with both; count and age, 8 bytes each.

-- retention returns what a job's keep says of its state: count and age, or nil for each.
local function retention(job)
  if job.keep == '' then
    return nil, nil
  end
  local marks, count8, age8 = struct.unpack('>Bc8c8', job.keep, (job.state - COMPLETED) * 17 + 1)
  return bit_of(marks, 1) and number(count8) or nil, bit_of(marks, 2) and number(age8) or nil
end

-- Keys that are put together once per call, by state.
local ended_keys = { [COMPLETED] = ENDED .. COMPLETED, [FAILED] = ENDED .. FAILED, [CANCELLED] = ENDED .. CANCELLED }
local group_names = { [COMPLETED] = {}, [FAILED] = {}, [CANCELLED] = {} }

local function group_name(job)
  local names = group_names[job.state]
  local name = names[job.name]
  if not name then
    name = job.state .. ':' .. job.name
    names[job.name] = name
  end
  return name
end

-- retain hands a terminal job to retention.
local function retain(job)
  local at = job.finishedAt == now8 and now_text or score_text(number(job.finishedAt))
  local ended, group = bulk('ZADD', ended_keys[job.state]), bulk('ZADD', GROUP .. group_name(job))
  ended[#ended + 1], ended[#ended + 2] = at, job.id
  group[#group + 1], group[#group + 2] = at, job.finish .. job.id
  if job.flow then
    zrem(OWING .. job.state, job.id)
  end
  job.retained = true
  local _, age = retention(job)
  if age then
    zadd(EXPIRY, tonumber(at) + age, job.id)
  end
  save(job)
end

-- How many more jobs this call may delete for keep.
local trims_left = 100

local function allow_trims(batch)
  trims_left = batch + 100
end

-- delete_ranked deletes the jobs of some members of a group.
local function delete_ranked(group, members)
  local ids = {}
  for i, member in ipairs(members) do
    ids[i] = string.sub(member, 9)
  end
  load(ids)
  for i, id in ipairs(ids) do
    local job = jobs[id]
    if job and job.retained and group == group_name(job) and members[i] == job.finish .. id then
      delete(job)
    else
      zrem(GROUP .. group, members[i])
    end
  end
end

-- trim_group deletes from a group what count and age let go, as far as the call may. It
-- reads the group, so what was collected for it must have been flushed. What is left
-- over is noted for the sweep: so many jobs, and those that finished until then.
local function trim_group(group, count, age)
  local key, excess = GROUP .. group, 0
  local noted = redis.call('HGET', SURPLUS, group)
  if not count and not age and not noted then
    return
  end
  local size = redis.call('ZCARD', key)
  if count then
    excess = math.max(size - count, 0)
  end
  if age then
    excess = math.max(excess, redis.call('ZCOUNT', key, '-inf', now - age))
  end
  if noted then
    local last, score = struct.unpack('>Hc0d', noted)
    local rank = redis.call('ZRANK', key, last)
    if not rank then
      rank = redis.call('ZCOUNT', key, '-inf', '(' .. string.format('%.17g', score)) - 1
    end
    excess = math.max(excess, rank + 1)
  end
  if excess == 0 then
    if noted then
      redis.call('HDEL', SURPLUS, group)
    end
    return
  end
  local now_deleted = math.min(excess, trims_left)
  if now_deleted < excess then
    local last = redis.call('ZRANGE', key, excess - 1, excess - 1, 'WITHSCORES')
    redis.call('HSET', SURPLUS, group, struct.pack('>Hc0d', #last[1], last[1], last[2]))
  elseif noted then
    redis.call('HDEL', SURPLUS, group)
  end
  if now_deleted > 0 then
    trims_left = trims_left - now_deleted
    delete_ranked(group, redis.call('ZRANGE', key, 0, now_deleted - 1))
  end
end

-- Groups whose trim is put off until a job with another keep finishes in them, or the
-- call ends: for jobs with one keep, one trim at the end does what one after each would.
local trims_due = {}

local function trim_now(group)
  local due = trims_due[group]
  if not due then
    return
  end
  trims_due[group] = nil
  flush_orders()
  trim_group(group, due.count, due.age)
end

-- trim applies a job's keep to its group when the job is about to be handed to
-- retention. A trim that is due there for another keep is made first.
local function trim(job)
  local group = group_name(job)
  local due = trims_due[group]
  if due and due.keep ~= job.keep then
    trim_now(group)
    due = nil
  end
  if not due then
    local count, age = retention(job)
    trims_due[group] = { keep = job.keep, count = count, age = age }
  end
end

-- trim_all makes all trims that are due. It comes before finish_call.
local function trim_all()
  for group in pairs(trims_due) do
    trim_now(group)
  end
end
