-- Inserting a job.
-- uses: place

-- A request for a job is eight strings, which jobArgs of enqueue.go composes: name,
-- queue, score in its lane, core (the first 6 bytes of its head), runAt (8 bytes), tail
-- (the head behind enqueuedAt), spec (empty: it is in the tail), and dedupe (see lib/dedupe.lua; empty: none).
local REQUEST_STRINGS = 8

-- Where ARGV holds a request, put_job inserts the job under an id that is free.
local function put_job(id, at)
  local name, queue, score, core, run_at, tail, spec = unpack(ARGV, at, at + 6)
  local seq = next_seq()
  if string.byte(core) == WAITING then
    zadd(LANE .. scoped(queue, name), score, seq .. id)
    sadd(LANES .. queue, name)
    count(queue, WAITING, 1)
  else
    local due = number(run_at)
    zadd(DELAYED .. queue, due, seq .. id)
    zadd(RUNAT .. queue, due, id)
    count(queue, DELAYED_STATE, 1)
  end
  zadd(LIST, now, id)
  if setting('q') then
    zadd(LISTQ .. queue, now, id)
  end
  if setting('n') then
    zadd(LISTN .. name, now, id)
  end
  resident(queue, 1)
  write(HEAD .. id, core .. seq .. run_at .. now8 .. tail)
  if spec ~= '' then
    write(SPEC .. id, spec)
  end
  jobs[id] = nil -- so that get reads the head when it is asked for
  wake(queue)
end

-- exists reports whether there is a job of that id, which load has looked for.
local function exists(id)
  return jobs[id] or value_changes[HEAD .. id] or jobs[id] == nil and get(id)
end
