-- Inserting jobs.
-- uses: place

-- A request for a job is eight strings, which jobArgs of enqueue.go composes: name,
-- queue, score in its lane, core (the first 6 bytes of its head), runAt (8 bytes), tail
-- (the head behind enqueuedAt), spec (empty: it is in the tail), and dedupe (see
-- lib/dedupe.lua; empty: none).
local REQUEST_STRINGS = 8

-- What the jobs of one queue and name enter, until flush_orders.
local entrances = {}

local function entrance(queue, name)
  local names = entrances[queue]
  if not names then
    names = {}
    entrances[queue] = names
  end
  local way = names[name]
  if not way then
    way = { lane = bulk('ZADD', lane_key(queue, name)), lists = { bulk('ZADD', LIST) }, sums = counts_of(queue) }
    if setting('q') then
      way.lists[2] = bulk('ZADD', LISTQ .. queue)
    end
    if setting('n') then
      way.lists[#way.lists + 1] = bulk('ZADD', LISTN .. name)
    end
    names[name] = way
    wake(queue)
  end
  return way
end

-- put_job inserts the job that ARGV requests from a position on, under an id that is
-- free.
local function put_job(id, at)
  local name, queue, score, core, run_at, tail, spec = unpack(ARGV, at, at + 6)
  local seq, way = next_seq(), entrance(queue, name)
  local sums = way.sums
  sums[0] = sums[0] + 1
  if string.byte(core) == WAITING then
    if #way.lane == 0 then
      sadd(LANES .. queue, name)
    end
    way.lane[#way.lane + 1] = score
    way.lane[#way.lane + 1] = seq .. id
    sums[WAITING] = sums[WAITING] + 1
  else
    local due = score_text(number(run_at))
    zadd(DELAYED .. queue, due, seq .. id)
    zadd(RUNAT .. queue, due, id)
    sums[DELAYED_STATE] = sums[DELAYED_STATE] + 1
  end
  for _, list in ipairs(way.lists) do
    list[#list + 1] = now_text
    list[#list + 1] = id
  end
  insert_head(id, core .. seq .. run_at .. now8 .. tail)
  if spec ~= '' then
    write(SPEC .. id, spec)
  end
end

-- exists reports whether there is a job of that id, which load has looked for.
local function exists(id)
  return jobs[id] or new_heads[id] or jobs[id] == nil and get(id)
end
