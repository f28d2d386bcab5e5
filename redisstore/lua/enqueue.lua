-- Inserts a batch of jobs.
--
-- KEYS     1: the prefix
-- ARGV     1: now; 2: settings; 3: how many jobs have neither id nor dedup key; then for
--          each job: its id (empty: to be assigned), "g" if the id came from a generator
--          (else empty), and the strings of lib/insert.lua
-- RETURNS  for each job, in order: an id; "0" inserted, "1" a duplicate of that id, "2"
--          the generated id is taken: then nothing was done for this job and those after
--          it, and the reply ends
-- uses: insert, dedupe

local STRIDE = 2 + REQUEST_STRINGS
local MAX_COLLISIONS = 100

-- Ids are drawn from the counter in order, and no more than are needed.
local drawn, drawn_to = 0, 0

local function draw(n)
  drawn_to = redis.call('HINCRBY', META, 'id', n)
  drawn = drawn_to - n
  local ids = {}
  for i = 1, n do
    ids[i] = 'j-' .. string.format('%d', drawn + i)
  end
  load(ids)
end

local function assign_id()
  for _ = 1, MAX_COLLISIONS do
    if drawn == drawn_to then
      draw(1)
    end
    drawn = drawn + 1
    local id = 'j-' .. string.format('%d', drawn)
    if not exists(id) then
      return id
    end
  end
  return nil
end

-- meet_dedupe looks for a live entry in a request's way, and does to it and its job what
-- the request asks for. It returns the id of the job that the entry names, or nil.
local function meet_dedupe(at)
  local name, dedupe = ARGV[at], ARGV[at + 7]
  local ends, marks, key = string.sub(dedupe, 1, 8), string.byte(dedupe, 9), string.sub(dedupe, 10)
  local entry = read_dedupe(name, key)
  if not entry or not holds(entry) then
    return nil
  end
  local job = dedupe_job(entry)
  local replace = bit_of(marks, 4) and job and job.state == DELAYED_STATE and not job.flow
  if replace then
    local new = parse(job.id, ARGV[at + 3] .. job.seq .. ARGV[at + 4] .. now8 .. ARGV[at + 5])
    detach(job)
    job.priority, job.runAt = new.priority, new.runAt
    change_static(job, job.dedupe, new.keep, spec_of(new), sizes_of(new))
    attach(job)
    write(SPEC .. job.id, ARGV[at + 6] ~= '' and ARGV[at + 6])
    wake(job.queue)
  end
  if entry.window and bit_of(marks, 1) and (replace or bit_of(marks, 2)) then
    entry.ends = ends
    write_dedupe(entry)
  end
  return entry.id
end

local ids, needed = {}, 0
for at = 4, #ARGV, STRIDE do
  needed = needed + 1
  if ARGV[at] ~= '' then
    ids[#ids + 1] = ARGV[at]
  end
end
load(ids)
if tonumber(ARGV[3]) > 0 then
  draw(tonumber(ARGV[3]))
end
reserve_seqs(needed)

local reply = {}
for at = 4, #ARGV, STRIDE do
  local id, generated, request = ARGV[at], ARGV[at + 1] == 'g', at + 2
  local dedupe = ARGV[request + 7]
  local duplicate = id ~= '' and not generated and exists(id) and id
  if not duplicate and dedupe ~= '' then
    duplicate = meet_dedupe(request)
  end
  if duplicate then
    id = duplicate
  else
    if generated and exists(id) then
      reply[#reply + 1] = id
      reply[#reply + 1] = '2'
      break
    end
    if id == '' then
      id = assign_id()
      if not id then
        return redis.error_reply('TAKEN ' .. MAX_COLLISIONS .. ' assigned ids in a row were taken')
      end
    end
    put_job(id, request)
    if dedupe ~= '' then
      local window = bit_of(string.byte(dedupe, 9), 1)
      write_dedupe({ name = ARGV[request], key = string.sub(dedupe, 10), ends = string.sub(dedupe, 1, 8),
        window = window, id = id })
    end
  end
  reply[#reply + 1] = id
  reply[#reply + 1] = duplicate and '1' or '0'
end
finish_call()
return reply
