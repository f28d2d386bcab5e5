-- The heads of jobs. record.go reads and writes the same layout.
-- uses: changes, head
--
-- A job is a table: id, state, priority, seq, runAt, enqueuedAt (8 bytes each), name,
-- queue, dedupe (key; empty: none), ttl (whether that was taken with a ttl), keep (packed;
-- empty: none), parent (packed envelope; empty: no flow's child), flow (whether it has a
-- manifest), staged (whether its run has staged children), cancel (whether a cancel is
-- requested), attempts, stalled, entries (of the ledger), processedAt, finishedAt (8 bytes,
-- or false), finish (its order, 8 bytes), lockExpiresAt (8 bytes), token, worker (empty
-- unless active), reason, retained (whether retention has it), last (the latest ledger
-- entry, packed; empty: none).
--
-- Beside these: head (as it was read or written last), staticFrom and specFrom (where in
-- the head the part that compose takes over as it stands begins, and the spec at its end;
-- that is empty if it lies in the key SPEC), dirty.

-- What a job's table does not hold is as here: a small table is quickly made.
local ABSENT = { __index = {
  dedupe = '', ttl = false, keep = '', parent = '', flow = false, staged = false, cancel = false,
  attempts = 0, stalled = 0, entries = 0, processedAt = false, finishedAt = false, finish = ZERO8,
  lockExpiresAt = ZERO8, token = '', worker = '', reason = '', retained = false, last = '', dirty = false,
} }

-- parse_run reads the part that a job has once it was claimed or has ended.
local function parse_run(job, head)
  local attempts, stalled, entries, marks, processed_at, finished_at, finish, lock_expires_at, token, worker, reason, last =
    struct.unpack(RUN_FORMAT, head, RUN_FROM + 2)
  job.processedAt = bit_of(marks, 1) and processed_at
  job.lockExpiresAt, job.token, job.worker = lock_expires_at, token, worker
  if attempts > 0 then job.attempts = attempts end
  if stalled > 0 then job.stalled = stalled end
  if entries > 0 then job.entries = entries end
  if bit_of(marks, 2) then job.finishedAt, job.finish = finished_at, finish end
  if reason ~= '' then job.reason = reason end
  if last ~= '' then job.last = last end
end

local function parse(id, head)
  local state, flags, priority, seq, run_at, enqueued_at = struct.unpack('>BBi4c8c8c8', head)
  local from, ran = static_from(head), bit_of(flags, RAN)
  local name, queue, dedupe, keep, parent, spec_from = struct.unpack('>Bc0Bc0Bc0Bc0Hc0', head, from + 8)
  local job = setmetatable({
    id = id, head = head, staticFrom = from, specFrom = spec_from,
    state = state, priority = priority, seq = seq, runAt = run_at, enqueuedAt = enqueued_at, name = name, queue = queue,
    processedAt = false, lockExpiresAt = ZERO8, token = '', worker = '',
  }, ABSENT)
  if ran then
    parse_run(job, head)
  end
  if dedupe ~= '' then job.dedupe = dedupe end
  if keep ~= '' then job.keep = keep end
  if parent ~= '' then job.parent = parent end
  if flags > 0 then
    job.cancel, job.ttl, job.flow = bit_of(flags, 1), bit_of(flags, 2), bit_of(flags, 4)
    job.retained, job.staged = bit_of(flags, 8), bit_of(flags, 16)
  end
  return job
end

-- save writes a job's head when the call ends, as the job is then.
local dirty = {}

local function save(job)
  if not job.dirty then
    job.dirty = true
    dirty[#dirty + 1] = job
  end
end

-- sizes_of returns how many bytes a job's spec has, and how many of them are metadata.
local function sizes_of(job)
  local size, meta_size = struct.unpack('>I4I4', job.head, job.staticFrom)
  return size, meta_size
end

-- spec_of returns a job's spec; empty: it lies in the key SPEC.
local function spec_of(job)
  return string.sub(job.head, job.specFrom)
end

local function spec_is_apart(job)
  return job.specFrom > #job.head
end

-- change_static changes what compose takes over from the head as it stands: dedup key,
-- keep, and the spec with its sizes.
local function change_static(job, dedupe, keep, spec, size, meta_size)
  local static = struct.pack('>I4I4Bc0Bc0Bc0Bc0Hc0', size, meta_size, #job.name, job.name, #job.queue, job.queue,
    #dedupe, dedupe, #keep, keep, #job.parent, job.parent)
  job.dedupe, job.keep = dedupe, keep
  job.head = string.sub(job.head, 1, job.staticFrom - 1) .. static .. spec
  job.specFrom = job.staticFrom + #static
  save(job)
end

-- compose returns a job's head as the job is now.
local function compose(job)
  local run = ''
  if job.processedAt or job.finishedAt or job.entries > 0 or job.attempts > 0 or job.stalled > 0 then
    run = struct.pack(RUN_FORMAT, job.attempts, job.stalled, job.entries,
      (job.processedAt and 1 or 0) + (job.finishedAt and 2 or 0),
      job.processedAt or ZERO8, job.finishedAt or ZERO8, job.finish, job.lockExpiresAt,
      #job.token, job.token, #job.worker, job.worker, #job.reason, job.reason, #job.last, job.last)
    run = struct.pack('>H', #run) .. run
  end
  local flags = (job.cancel and 1 or 0) + (job.ttl and 2 or 0) + (job.flow and 4 or 0) + (job.retained and 8 or 0) +
    (job.staged and 16 or 0) + (run ~= '' and RAN or 0) + (spec_is_apart(job) and APART or 0) +
    ((job.dedupe ~= '' or job.keep ~= '' or job.parent ~= '') and BOUND or 0)
  return struct.pack('>BBi4', job.state, flags, job.priority) .. job.seq .. job.runAt .. job.enqueuedAt ..
    run .. string.sub(job.head, job.staticFrom)
end

-- The jobs that this call has met, by id; false: there is none. Everything works on
-- these, so that the items of a batch act one after the other.
local jobs = {}

-- load reads the heads of some ids, unless they are known already.
local function load(ids)
  local keys, missing = {}, {}
  for _, id in ipairs(ids) do
    if jobs[id] == nil and new_heads[id] then
      jobs[id] = parse(id, new_heads[id])
    elseif jobs[id] == nil then
      jobs[id] = false
      missing[#missing + 1] = id
      keys[#keys + 1] = HEAD .. id
    end
  end
  for from = 1, #keys, 4000 do
    local heads = redis.call('MGET', unpack(keys, from, math.min(from + 3999, #keys)))
    for i, head in ipairs(heads) do
      if head then
        local id = missing[from + i - 1]
        jobs[id] = parse(id, head)
      end
    end
  end
end

-- know enters a job whose head was read already, unless it is known, or was changed.
local function know(id, head)
  if jobs[id] == nil then
    head = new_heads[id] or head
    jobs[id] = head and parse(id, head)
  end
end

-- get returns the job of an id, or false.
local function get(id)
  if jobs[id] == nil then
    local head = new_heads[id] or redis.call('GET', HEAD .. id)
    jobs[id] = head and parse(id, head)
  end
  return jobs[id]
end

-- head_of returns a job's head.
local function head_of(job)
  if not job.dirty then
    return job.head
  end
  return compose(job)
end

-- flush_heads has the heads of changed jobs written, unless the jobs are gone.
local function flush_heads()
  for _, job in ipairs(dirty) do
    if jobs[job.id] == job then
      local head = compose(job)
      local longer = #head - #job.head
      job.head, job.dirty = head, false
      job.staticFrom, job.specFrom = job.staticFrom + longer, job.specFrom + longer
      new_heads[job.id] = head
    end
  end
  dirty = {}
end

local function terminal(state)
  return state >= COMPLETED
end

-- finish_call makes all changes of the call.
local function finish_call()
  flush_heads()
  flush()
end
