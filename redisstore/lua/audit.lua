-- Holds a page of records, jobs with their flows, schedules and stats, against the orders
-- that they belong into, and enters them where they are missing: after a loss of single keys
-- or entries, nothing is out of reach for good. Each call goes on where the latest ended.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings; 3: how many keys of the database to look at, about
-- RETURNS  how many entries were missing
-- uses: keep, claimed, flow_audit, schedule

redis.call('UNLINK', PREFIX)

local mended = 0

-- demand enters a member into a sorted set unless it is there.
local function demand(key, score, member)
  if not redis.call('ZSCORE', key, member) then
    zadd(key, score, member)
    mended = mended + 1
    return true
  end
  return false
end

local function contains(list, wanted)
  for _, item in ipairs(list) do
    if item == wanted then
      return true
    end
  end
  return false
end

-- audit_dedupe does so for a job's dedup key. When a lost window would have closed is
-- not known.
local function audit_dedupe(job)
  local entry = read_dedupe(job.name, job.dedupe)
  if entry and entry.window then
    demand(WINDOWS, number(entry.ends), scoped(job.name, job.dedupe))
  elseif not entry and not job.ttl and not terminal(job.state) then
    write_dedupe({ name = job.name, key = job.dedupe, ends = ZERO8, window = false, id = job.id })
    mended = mended + 1
  end
end

local function audit(job)
  local state, missing = job.state, false
  if state == WAITING then
    missing = demand(lane_of(job), -job.priority, ranked(job))
    sadd(LANES .. job.queue, job.name)
  elseif state == DELAYED_STATE then
    missing = demand(DELAYED .. job.queue, number(job.runAt), ranked(job))
    demand(RUNAT .. job.queue, number(job.runAt), job.id)
  elseif state == ACTIVE_STATE then
    demand(ACTIVE, number(job.lockExpiresAt), job.id)
    if not contains(held_by(job.token), job.id) then
      hold(job.token, { job.id }, 1)
      mended = mended + 1
    end
  elseif state == PARKED_STATE then
    demand(PARKED, number(job.enqueuedAt), job.id)
  elseif job.retained then
    local at = number(job.finishedAt)
    demand(ENDED .. state, at, job.id)
    demand(GROUP .. group_name(job), at, job.finish .. job.id)
    local _, age = retention(job)
    if age then
      demand(EXPIRY, at + age, job.id)
    end
  else
    demand(OWING .. state, number(job.finishedAt), job.id)
  end
  if missing then
    wake(job.queue)
  end
  if job.dedupe ~= '' then
    audit_dedupe(job)
  end
  local enqueued = number(job.enqueuedAt)
  demand(LIST, enqueued, job.id)
  if setting('n') then
    demand(LISTN .. job.name, enqueued, job.id)
  end
  if setting('q') then
    demand(LISTQ .. job.queue, enqueued, job.id)
  end
  demand(QUEUES, 0, job.queue)
end

-- audit_schedule does so for a schedule.
local function audit_schedule(key)
  local schedule = get_schedule(key)
  if schedule then
    demand(SCHEDULES, 0, key)
    demand(DUE, number(schedule.next), key)
  end
end

local pattern = string.gsub(PREFIX, '[%*%?%[%]\\]', '\\%0') .. '*'
local page = redis.call('SCAN', redis.call('HGET', META, 'audit') or '0', 'MATCH', pattern, 'COUNT', ARGV[3])
redis.call('HSET', META, 'audit', page[1])
local ids = {}
for _, key in ipairs(page[2]) do
  if string.sub(key, 1, #HEAD) == HEAD then
    ids[#ids + 1] = string.sub(key, #HEAD + 1)
  elseif string.sub(key, 1, #SCHEDULE) == SCHEDULE then
    audit_schedule(string.sub(key, #SCHEDULE + 1))
  elseif string.sub(key, 1, #STATS) == STATS then
    local minute = string.sub(key, #STATS + 1)
    demand(MINUTES, tonumber(minute), minute)
  end
end
load(ids)
for _, id in ipairs(ids) do
  if jobs[id] then
    audit(jobs[id])
    if jobs[id].flow then
      mended = mended + audit_flow(jobs[id])
    end
  end
end
mended = mended + audit_outbox()
finish_call()
return mended
