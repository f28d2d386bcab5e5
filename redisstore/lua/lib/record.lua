-- The heads of jobs. record.go reads and writes the same layout.
-- uses: changes
--
-- A job is a table: id, state, priority, seq, runAt, enqueuedAt (8 bytes each), size and
-- metaSize (bytes of its spec, and of the metadata at the spec's beginning), name, queue,
-- dedupe (key; empty: none), ttl (whether that was taken with a ttl), keep (packed; empty:
-- none), parent (packed envelope; empty: no flow's child), spec (empty: it is long, and
-- lies in the key SPEC), flow (whether it has a manifest), staged (whether its run has
-- staged children), cancel (whether a cancel is requested), attempts, stalled, entries (of
-- the ledger), processedAt, finishedAt (8 bytes, or false), finish (its order, 8 bytes),
-- lockExpiresAt (8 bytes), token, worker (empty unless active), reason, retained (whether
-- retention has it), last (the latest ledger entry, packed; empty: none).

local STATIC_FORMAT = '>I4I4Bc0Bc0Bc0Bc0Hc0Hc0'
local RUN_FORMAT = '>i4i4i8Bc8c8c8c8Hc0Hc0Hc0'
local ZERO8 = '\0\0\0\0\0\0\0\0'
local STATIC_FROM = 31 -- where the part that seldom changes begins

-- bit_of tells whether the bit of that value is set in a byte.
local function bit_of(byte, value)
  return byte % (2 * value) >= value
end

local function parse(id, head)
  local state, flags, priority, seq, run_at, enqueued_at, size, meta_size, name, queue, dedupe, keep, parent, spec, at =
    struct.unpack('>BBi4c8c8c8I4I4Bc0Bc0Bc0Bc0Hc0Hc0', head)
  local run, last = struct.unpack('>Hc0Hc0', head, at)
  local attempts, stalled, entries, processed_at, finished_at = 0, 0, 0, false, false
  local finish, lock_expires_at, token, worker, reason = ZERO8, ZERO8, '', '', ''
  if run ~= '' then
    local marks
    attempts, stalled, entries, marks, processed_at, finished_at, finish, lock_expires_at, token, worker, reason =
      struct.unpack(RUN_FORMAT, run)
    processed_at = bit_of(marks, 1) and processed_at
    finished_at = bit_of(marks, 2) and finished_at
  end
  -- One constructor: a table that grows field by field is made anew several times.
  return {
    id = id, head = head, dirty = false, static = string.sub(head, STATIC_FROM, at - 1),
    state = state, priority = priority, seq = seq, runAt = run_at, enqueuedAt = enqueued_at,
    size = size, metaSize = meta_size, name = name, queue = queue, dedupe = dedupe, keep = keep,
    parent = parent, spec = spec, last = last,
    cancel = bit_of(flags, 1), ttl = bit_of(flags, 2), flow = bit_of(flags, 4),
    retained = bit_of(flags, 8), staged = bit_of(flags, 16),
    attempts = attempts, stalled = stalled, entries = entries, processedAt = processed_at, finishedAt = finished_at,
    finish = finish, lockExpiresAt = lock_expires_at, token = token, worker = worker, reason = reason,
  }
end

-- change_static comes with any change of size, metaSize, name, queue, dedupe, keep,
-- parent and spec.
local function change_static(job)
  job.static = struct.pack(STATIC_FORMAT, job.size, job.metaSize, #job.name, job.name, #job.queue, job.queue,
    #job.dedupe, job.dedupe, #job.keep, job.keep, #job.parent, job.parent, #job.spec, job.spec)
end

local function compose(job)
  local run = ''
  if job.processedAt or job.finishedAt or job.entries > 0 or job.attempts > 0 or job.stalled > 0 then
    run = struct.pack(RUN_FORMAT, job.attempts, job.stalled, job.entries,
      (job.processedAt and 1 or 0) + (job.finishedAt and 2 or 0),
      job.processedAt or ZERO8, job.finishedAt or ZERO8, job.finish, job.lockExpiresAt,
      #job.token, job.token, #job.worker, job.worker, #job.reason, job.reason)
  end
  local flags = (job.cancel and 1 or 0) + (job.ttl and 2 or 0) + (job.flow and 4 or 0) + (job.retained and 8 or 0) +
    (job.staged and 16 or 0)
  return struct.pack('>BBi4', job.state, flags, job.priority) .. job.seq .. job.runAt .. job.enqueuedAt ..
    job.static .. struct.pack('>Hc0Hc0', #run, run, #job.last, job.last)
end

-- The jobs that this call has met, by id; false: there is none. Everything works on
-- these, so that the items of a batch act one after the other.
local jobs = {}

-- Heads of jobs that this call has inserted, by id, until get parses them.
local new_heads = {}

-- load reads the heads of some ids, unless they are known already.
local function load(ids)
  local keys, missing = {}, {}
  for _, id in ipairs(ids) do
    if jobs[id] == nil and not new_heads[id] then
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

-- get returns the job of an id, or false.
local function get(id)
  if jobs[id] == nil then
    local head = new_heads[id] or redis.call('GET', HEAD .. id)
    jobs[id] = head and parse(id, head)
  end
  return jobs[id]
end

-- insert_head makes a job of a head that the call has put together.
local function insert_head(id, head)
  new_heads[id], jobs[id] = head, nil
  values[#values + 1] = HEAD .. id
  values[#values + 1] = head
end

-- save writes a job's head when the call ends, as the job is then.
local dirty = {}

local function save(job)
  if not job.dirty then
    job.dirty = true
    dirty[#dirty + 1] = job
  end
end

-- head_of returns a job's head.
local function head_of(job)
  if job.dirty or not job.head then
    job.head = compose(job)
  end
  return job.head
end

-- flush_heads hands the heads to be written to flush_values, unless the jobs are gone.
local function flush_heads()
  for _, job in ipairs(dirty) do
    local head = head_of(job)
    job.dirty = false
    if jobs[job.id] == job then
      values[#values + 1] = HEAD .. job.id
      values[#values + 1] = head
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
