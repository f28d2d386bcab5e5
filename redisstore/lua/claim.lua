-- Promotes a queue's due jobs, and claims the best of its waiting ones.
--
-- KEYS     1: the prefix
-- ARGV     1: now; 2: settings; 3: queue; 4: token; 5: worker; 6: lockExpiresAt (8 bytes);
--          7: how many to claim at most; 8: how many bytes of records at most; 9: how
--          many due jobs to promote at most; 10: how many of the jobs that the token
--          holds to pass over and then return the others first, or empty to claim only;
--          then the names
-- RETURNS  the number of the latest wake; runAt of the queue's first delayed job (empty:
--          there is none, or the queue is paused); "1" if the claim ended early, for its
--          bytes or because it met too many members without a job; how many of the
--          records that follow the token held before; the records
-- uses: place, reply

local queue, token, worker, lock_expires, limit, room = ARGV[3], ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8])
local FIRST_NAME = 11

-- Claims free memory in the end, so they pass when there is none left: a write that
-- needs no memory opens the door for the others.
redis.call('UNLINK', PREFIX)

-- promote makes due delayed jobs waiting.
local function promote(most)
  local due = redis.call('ZRANGEBYSCORE', DELAYED .. queue, '-inf', now, 'LIMIT', 0, most)
  if #due == 0 then
    return
  end
  local ids = {}
  for i, member in ipairs(due) do
    ids[i] = string.sub(member, 9)
  end
  load(ids)
  for i, id in ipairs(ids) do
    local job = jobs[id]
    if job and job.state == DELAYED_STATE and job.queue == queue and ranked(job) == due[i] then
      detach(job)
      job.state = WAITING
      attach(job)
    else
      zrem(DELAYED .. queue, due[i])
    end
  end
  wake(queue)
end

-- resume returns the jobs that the token holds in this queue, best first.
local function resume()
  local ids, held = redis.call('SMEMBERS', CLAIMED .. token), {}
  load(ids)
  for _, id in ipairs(ids) do
    local job = jobs[id]
    if job and job.state == ACTIVE_STATE and job.token == token and job.queue == queue then
      held[#held + 1] = job
    end
  end
  table.sort(held, function(a, b)
    if a.priority ~= b.priority then
      return a.priority > b.priority
    end
    return number(a.seq) < number(b.seq)
  end)
  return held
end

-- A source hands out the members of one lane, best first. Its block holds members and
-- scores in turn.
local function refill(source, size)
  source.block = redis.call('ZRANGE', source.key, source.from, source.from + size - 1, 'WITHSCORES')
  source.from, source.at = source.from + size, 1
  return #source.block > 0
end

-- look reads the rank of a source's next member.
local function look(source)
  source.member = source.block[source.at]
  source.score, source.seq = tonumber(source.block[source.at + 1]), number(source.member)
end

local function better(a, b)
  if a.score ~= b.score then
    return a.score < b.score
  end
  return a.seq < b.seq
end

-- The sources that have a member left are a heap.
local heap = {}

local function sink(i)
  while true do
    local best = i
    for child = 2 * i, 2 * i + 1 do
      if heap[child] and better(heap[child], heap[best]) then
        best = child
      end
    end
    if best == i then
      return
    end
    heap[i], heap[best] = heap[best], heap[i]
    i = best
  end
end

-- open_sources puts the lanes with waiting jobs into the heap.
local function open_sources(wanted)
  local seen, block = {}, #ARGV == FIRST_NAME and wanted or math.max(4, math.ceil(wanted / (#ARGV - FIRST_NAME + 1)))
  for i = FIRST_NAME, #ARGV do
    local name = ARGV[i]
    if not seen[name] then
      seen[name] = true
      local source = { key = LANE .. scoped(queue, name), from = 0 }
      if refill(source, block) then
        look(source)
        heap[#heap + 1] = source
      end
    end
  end
  for i = math.floor(#heap / 2), 1, -1 do
    sink(i)
  end
  return block
end

-- step moves the best source to its next member.
local function step(block)
  local source = heap[1]
  source.at = source.at + 2
  if source.at > #source.block and not refill(source, block) then
    heap[1] = heap[#heap]
    heap[#heap] = nil
  else
    look(source)
  end
  if heap[1] then
    sink(1)
  end
end

-- next_members returns up to so many members, best first, and the lanes they are in.
local function next_members(wanted, block)
  local members, keys = {}, {}
  while #members < wanted and heap[1] do
    members[#members + 1] = heap[1].member
    keys[#keys + 1] = heap[1].key
    step(block)
  end
  return members, keys
end

local expires_text = score_text(number(lock_expires))

-- hold locks a waiting job; its member leaves the lane with those before it.
local function hold(job)
  local actives, holds, sums = bulk('ZADD', ACTIVE), bulk('SADD', CLAIMED .. token), counts_of(queue)
  actives[#actives + 1], actives[#actives + 2] = expires_text, job.id
  holds[#holds + 1] = job.id
  sums[WAITING], sums[ACTIVE_STATE] = sums[WAITING] - 1, sums[ACTIVE_STATE] + 1
  job.state, job.processedAt, job.lockExpiresAt, job.token, job.worker = ACTIVE_STATE, now8, lock_expires, token, worker
  save(job)
end

local claimed, held, full, used = {}, 0, false, 0

-- enter adds a job to the claimed ones, unless it does not fit.
local function enter(job)
  local size = size_of(job)
  if used + size > room and #claimed > 0 then
    full = true
    return false
  end
  used = used + size
  claimed[#claimed + 1] = job
  return true
end

promote(tonumber(ARGV[9]))
if ARGV[10] ~= '' then
  local list = resume()
  for i = tonumber(ARGV[10]) + 1, #list do
    if #claimed == limit or not enter(list[i]) then
      break
    end
  end
  held = #claimed
end
flush_orders()
local delayed = ''
if not redis.call('ZSCORE', PAUSED, queue) then
  local block, looked, taken = 0, 0, {}
  if #claimed < limit and not full then
    block = open_sources(limit - #claimed)
  end
  while not full and #claimed < limit and heap[1] do
    local members, keys = next_members(limit - #claimed, block)
    local ids = {}
    for i, member in ipairs(members) do
      ids[i] = string.sub(member, 9)
    end
    load(ids)
    for i, id in ipairs(ids) do
      local job = jobs[id]
      if job and job.state == WAITING and ranked(job) == members[i] and lane_of(job) == keys[i] then
        if not enter(job) then
          break
        end
        hold(job)
      end
      taken[keys[i]] = (taken[keys[i]] or 0) + 1
    end
    looked = looked + #members
    full = full or looked >= 2 * limit
  end
  -- Of each lane the best were taken, or had no job.
  for key, n in pairs(taken) do
    redis.call('ZREMRANGEBYRANK', key, 0, n - 1)
  end
  delayed = redis.call('ZRANGE', DELAYED .. queue, 0, 0, 'WITHSCORES')[2] or ''
end
finish_call()
local reply = { redis.call('HGET', WAKES, '') or '0', delayed, full and #claimed < limit and '1' or '0', held }
put_records(reply, 4, claimed)
return reply
