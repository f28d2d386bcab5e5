-- Inserts a batch of jobs.
--
-- KEYS     1: the prefix
-- ARGV     1: now; 2: settings; 3: how many jobs have neither id nor dedup key; 4: "1" if
--          none has a dedup key; 5: how many shapes there are; then the shapes of
--          lib/shape.lua; then for each job: the number of its shape, behind "g" if the
--          id came from a generator; its id (empty: to be assigned); and the other strings
--          of lib/shape.lua
-- RETURNS  a number, if all jobs were inserted: where it had no id, the first job has
--          j-<the number + 1>, the second j-<the number + 2> and so on. Else for each job, in
--          order: an id; "0" inserted, "1" a duplicate of that id, "2" the generated id is
--          taken: then nothing was done for this job and those after it, and the reply ends
-- uses: base, shape

local FIRST_SHAPE, STRIDE = 6, 5
local FIRST = FIRST_SHAPE + ARGV[5] * SHAPE_STRINGS

-- insert_plain inserts the batch, if no job has a dedup key and all ids are free: then one
-- command tells, and no job's record has to be looked at. It returns the reply, or nil if
-- it did nothing. It does what lib/insert.lua does, shape by shape, and makes no function nor
-- table for what several shapes might share: most batches are small, and have one.
local function insert_plain()
  local call = redis.call
  local n = (#ARGV - FIRST + 1) / STRIDE
  local base = call('HINCRBY', META, 'seq', n) - n
  local shapes, heads, named, at = {}, {}, false, FIRST
  for i = 1, ARGV[5] do
    local name, queue, score, core, run_at = unpack(ARGV, FIRST_SHAPE + (i - 1) * SHAPE_STRINGS, FIRST_SHAPE + i * SHAPE_STRINGS - 1)
    local shape = { name = name, queue = queue, score = score, core = core, run_at = run_at, times = run_at .. now8,
      members = {}, list = {} }
    shapes[i], shapes['' .. i], shapes['g' .. i] = shape, shape, shape
  end
  for i = 1, n do
    local shape, id, seq = shapes[ARGV[at]], ARGV[at + 1], struct.pack('>i8', base + i)
    if id == '' then
      id = string.format('j-%d', base + i)
    else
      named = true
    end
    local list, members = shape.list, shape.members
    local k = #list
    list[k + 1], list[k + 2] = now_text, id
    members[k + 1], members[k + 2] = shape.score, seq .. id
    k = #heads
    heads[k + 1], heads[k + 2] = HEAD .. id, shape.core .. seq .. shape.times .. ARGV[at + 2]
    if ARGV[at + 3] ~= '' then
      heads[k + 3], heads[k + 4] = SPEC .. id, ARGV[at + 3]
    end
    at = at + STRIDE
  end
  if named then
    local seen = {}
    for i = 1, #heads, 2 do
      if seen[heads[i]] then
        return nil
      end
      seen[heads[i]] = true
    end
  end
  if call('MSETNX', unpack(heads)) == 0 then
    return nil
  end
  for i = 1, #shapes do
    local shape = shapes[i]
    local name, queue, list, state = shape.name, shape.queue, shape.list, string.byte(shape.core)
    local more = #list / 2
    if state == WAITING then
      call('SADD', LANES .. queue, name)
      call('ZADD', LANE .. scoped(queue, name), unpack(shape.members))
    else
      local due, members, runs = score_text(number(shape.run_at)), shape.members, {}
      for k = 1, #members, 2 do
        members[k], runs[k], runs[k + 1] = due, due, list[k + 1]
      end
      call('ZADD', DELAYED .. queue, unpack(members))
      call('ZADD', RUNAT .. queue, unpack(runs))
    end
    call('ZADD', LIST, unpack(list))
    if setting('q') then call('ZADD', LISTQ .. queue, unpack(list)) end
    if setting('n') then call('ZADD', LISTN .. name, unpack(list)) end
    local counts = COUNTSQ .. queue
    if call('HINCRBY', counts, 'all', more) == more then -- it had none
      call('ZADD', QUEUES, 0, queue)
    end
    call('HINCRBY', counts, state, more)
    call('HINCRBY', COUNTS, state, more)
    local turn = call('HINCRBY', WAKES, '', 1)
    call('HSET', WAKES, queue, turn)
    if call('SREM', ARMED, queue) == 1 then
      call(setting('s') and 'SPUBLISH' or 'PUBLISH', WAKE .. queue, turn)
    end
  end
  return base
end

if ARGV[4] == '1' then
  local reply = insert_plain()
  if reply then
    return reply
  end
end

-- uses: insert

local shapes = {}
for i = 1, ARGV[5] do
  local shape = read_shape(FIRST_SHAPE + (i - 1) * SHAPE_STRINGS)
  shapes['' .. i], shapes['g' .. i] = shape, shape
end

-- uses: insert_one, place, dedupe

local MAX_COLLISIONS = 100

-- Ids are drawn from the counter of seqs in order.
local drawn, drawn_to = 0, 0

local function draw(n)
  drawn_to = redis.call('HINCRBY', META, 'seq', n)
  drawn = drawn_to - n
  local ids = {}
  for i = 1, n do
    ids[i] = string.format('j-%d', drawn + i)
  end
  load(ids)
end

local function assign_id()
  for _ = 1, MAX_COLLISIONS do
    if drawn == drawn_to then
      draw(1)
    end
    drawn = drawn + 1
    local id = string.format('j-%d', drawn)
    if not exists(id) then
      return id
    end
  end
  return nil
end

-- meet_dedupe looks for a live entry in a request's way, and does to it and its job what
-- the request asks for. It returns the id of the job that the entry names, or nil.
local function meet_dedupe(shape, tail, spec, dedupe)
  local ends, marks, key = string.sub(dedupe, 1, 8), string.byte(dedupe, 9), string.sub(dedupe, 10)
  local entry = read_dedupe(shape.name, key)
  if not entry or not holds(entry) then
    return nil
  end
  local job = dedupe_job(entry)
  local replace = bit_of(marks, 4) and job and job.state == DELAYED_STATE and not job.flow
  if replace then
    flush_entrances(shapes)
    local new = parse(job.id, new_head(shape, job.seq, tail))
    detach(job)
    job.priority, job.runAt = new.priority, new.runAt
    change_static(job, job.dedupe, new.keep, spec_of(new), sizes_of(new))
    attach(job)
    write(SPEC .. job.id, spec ~= '' and spec)
    wake(job.queue)
  end
  if entry.window and bit_of(marks, 1) and (replace or bit_of(marks, 2)) then
    entry.ends = ends
    write_dedupe(entry)
  end
  return entry.id
end

local ids, needed = {}, 0
for at = FIRST, #ARGV, STRIDE do
  needed = needed + 1
  if ARGV[at + 1] ~= '' then
    ids[#ids + 1] = ARGV[at + 1]
  end
end
load(ids)
if tonumber(ARGV[3]) > 0 then
  draw(tonumber(ARGV[3]))
end
reserve_seqs(needed)

local reply = {}
for at = FIRST, #ARGV, STRIDE do
  local shape, id, tail, spec, dedupe = unpack(ARGV, at, at + STRIDE - 1)
  local generated = string.byte(shape) == 103
  shape = shapes[shape]
  local duplicate = id ~= '' and not generated and exists(id) and id
  if not duplicate and dedupe ~= '' then
    duplicate = meet_dedupe(shape, tail, spec, dedupe)
  end
  if duplicate then
    id = duplicate
  else
    if generated and exists(id) then
      append_pair(reply, id, '2')
      break
    end
    if id == '' then
      id = assign_id()
      if not id then
        return redis.error_reply('TAKEN ' .. MAX_COLLISIONS .. ' assigned ids in a row were taken')
      end
    end
    put_job(id, shape, tail, spec)
    if dedupe ~= '' then
      local window = bit_of(string.byte(dedupe, 9), 1)
      write_dedupe({ name = shape.name, key = string.sub(dedupe, 10), ends = string.sub(dedupe, 1, 8),
        window = window, id = id })
    end
  end
  append_pair(reply, id, duplicate and '1' or '0')
end
finish_call()
return reply
