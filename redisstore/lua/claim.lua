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
--          records that follow the token held before; the records (see lib/reply.lua)
-- uses: head, claimed, merge, parts

local queue, token, worker, lock_expires, limit, room = ARGV[3], ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8])

-- Claims free memory in the end, so they pass when there is none left: a write that
-- needs no memory opens the door for the others.
redis.call('UNLINK', PREFIX)

local ids, records, parts, held = {}, {}, {}, 0 -- what is returned; how many of them were held before
local apart = {}                               -- id and place of those whose spec lies apart
local full, used = false, 0

-- fits counts a record of so many bytes in, unless the reply has no room for it.
local function fits(size)
  if used + size > room and #ids > 0 then
    full = true
    return false
  end
  used = used + size
  return true
end

-- enter puts a job among those that are returned: by its head, or as a table of which the
-- head is written when the call ends.
local function enter(id, record, is_apart)
  local n = #ids + 1
  ids[n], records[n] = id, record
  if is_apart then
    append_pair(apart, id, n - 1)
  end
end

-- The run of a job that was never claimed before.
local first_run = struct.pack(RUN_FORMAT, 0, 0, 0, 1, now8, ZERO8, ZERO8, lock_expires, #token, token, #worker, worker, 0, '', 0, '')
first_run = struct.pack('>H', #first_run) .. first_run

local plain_flags = {} -- of a job that was never claimed → what they are then
for _, ttl in ipairs({ 0, 2 }) do
  for _, bound in ipairs({ 0, BOUND }) do
    for _, apart in ipairs({ 0, APART }) do
      plain_flags[ttl + bound + apart] = string.char(ACTIVE_STATE, RAN + ttl + bound + apart)
    end
  end
end

-- take_plain claims a job that was never claimed before, by putting the run into its head,
-- without taking it apart. It returns nil if the job is another, and false if the reply has
-- no room for it.
local function take_plain(id, key, head, member, source)
  if not head then
    return nil
  end
  local state, flags = string.byte(head, 1, 2)
  local begins = state == WAITING and plain_flags[flags]
  if not begins or string.sub(head, 7, 14) ~= string.sub(member, 1, 8) or
    string.find(head, source.names, RUN_FROM + 8, true) ~= RUN_FROM + 8 then
    return nil
  end
  if not fits(#id + struct.unpack('>I4', head, RUN_FROM)) then
    return false
  end
  head = begins .. string.sub(head, 3, RUN_FROM - 1) .. first_run .. string.sub(head, RUN_FROM)
  append_pair(values, key, head)
  enter(id, head, flags >= APART)
  return true
end

local names = { unpack(ARGV, 11) }
local paused, block, looked, taken = false, 0, 0, {}
local members, sources, page, keys, heads, at = {}, {}, {}, {}, {}, 1 -- page: their ids

-- next_page reads the next best members, and the heads of their jobs.
local function next_page()
  members, sources = next_members(limit - #ids, block)
  page, keys = {}, {}
  for i, member in ipairs(members) do
    local id = string.sub(member, 9)
    page[i], keys[i] = id, HEAD .. id
  end
  heads, at, looked = redis.call('MGET', unpack(keys)), 1, looked + #members
end

-- take_all claims. It stops at a job that is not plain, unless take knows how to claim
-- those; then it can be called again, to go on with that.
local function take_all(take)
  while not full and #ids < limit do
    if at > #members then
      if looked >= 2 * limit then
        full = true
        return true
      elseif not heap[1] then
        return true
      end
      next_page()
    end
    while at <= #members and not full do
      local source, id = sources[at], page[at]
      source.names = source.names or struct.pack('>Bc0Bc0', #source.name, source.name, #queue, queue)
      local done = take_plain(id, keys[at], heads[at], members[at], source)
      if done == nil then
        if not take then
          return false
        end
        done = take(id, heads[at], members[at], source)
      end
      if done ~= false then
        -- Of each lane the best were taken, or had no job.
        taken[source.key] = (taken[source.key] or 0) + 1
        at = at + 1
      end
    end
  end
  return true
end

-- start opens the lanes.
local function start()
  paused = redis.call('ZSCORE', PAUSED, queue)
  if not paused and not full and #ids < limit then
    block = open_sources(queue, names, limit - #ids)
  end
end

-- write_claims takes the claimed jobs out of their lanes, and collects their locks.
local function write_claims()
  for key, n in pairs(taken) do
    redis.call('ZREMRANGEBYRANK', key, 0, n - 1)
  end
  local n = #ids - held
  if n == 0 then
    return
  end
  local actives, expires = bulk('ZADD', ACTIVE), score_text(number(lock_expires))
  for i = held + 1, #ids do
    append_pair(actives, expires, ids[i])
  end
  local sums = counts_of(queue)
  sums[WAITING], sums[ACTIVE_STATE] = sums[WAITING] - n, sums[ACTIVE_STATE] + n
  hold(token, ids, held + 1)
end

-- answer composes the reply, when everything is written.
local function answer()
  local delayed = not paused and redis.call('ZRANGE', DELAYED .. queue, 0, 0, 'WITHSCORES')[2] or ''
  local reply = { redis.call('HGET', WAKES, '') or '0', delayed, full and #ids < limit and '1' or '0', held, #ids }
  for i, id in ipairs(ids) do
    local record = records[i]
    append_pair(reply, id, record.head or record)
  end
  put_specs(reply, apart)
  for _, text in ipairs(parts) do
    reply[#reply + 1] = text
  end
  return reply
end

local due = redis.call('ZRANGEBYSCORE', DELAYED .. queue, '-inf', now, 'LIMIT', 0, tonumber(ARGV[9]))
local simple = #due == 0 and ARGV[10] == ''
if simple then
  start()
  if take_all() then
    write_claims()
    flush_tally()
    return answer()
  end
end

-- uses: place, flow

-- enter_job is enter for a job as a table.
local function enter_job(job)
  if not fits(#job.id + sizes_of(job)) then
    return false
  end
  enter(job.id, job, spec_is_apart(job))
  if job.flow then
    put_part(parts, #ids - 1, 'm', manifest_of(job))
  end
  return true
end

-- promote makes due delayed jobs waiting.
local function promote()
  if #due == 0 then
    return
  end
  local due_ids = {}
  for i, member in ipairs(due) do
    due_ids[i] = string.sub(member, 9)
  end
  load(due_ids)
  for i, id in ipairs(due_ids) do
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
  local held_ids, list = held_by(token), {}
  load(held_ids)
  for _, id in ipairs(held_ids) do
    local job = jobs[id]
    if job and job.state == ACTIVE_STATE and job.token == token and job.queue == queue then
      list[#list + 1] = job
    end
  end
  table.sort(list, function(a, b)
    if a.priority ~= b.priority then
      return a.priority > b.priority
    end
    return number(a.seq) < number(b.seq)
  end)
  return list
end

-- take_job claims whatever job. A member without a job is taken as well.
local function take_job(id, head, member, source)
  know(id, head)
  local job = jobs[id]
  if not job or job.state ~= WAITING or ranked(job) ~= member or lane_of(job) ~= source.key then
    return true
  elseif not enter_job(job) then
    return false
  end
  job.state, job.processedAt, job.lockExpiresAt, job.token, job.worker = ACTIVE_STATE, now8, lock_expires, token, worker
  save(job)
  return true
end

if not simple then
  promote()
  if ARGV[10] ~= '' then
    local list = resume()
    for i = tonumber(ARGV[10]) + 1, #list do
      if #ids == limit or not enter_job(list[i]) then
        break
      end
    end
    held = #ids
  end
  flush_orders()
  start()
end
take_all(take_job)
write_claims()
finish_call()
return answer()
