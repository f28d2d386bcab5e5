-- Settles a batch of runs.
--
-- KEYS     1: the prefix
-- ARGV     1: now; 2: settings; 3: how many items need a new place in the order at most;
--          then for each ack four strings: id, token, kind, exit. The kind is a digit; for
--          a retry or snooze the digit of the state to go to and runAt (8 bytes) follow;
--          for a fan-out "1" to fail fast, else "0", and the number of children
-- RETURNS  for each ack: the state of the job after it; or 0: no such kind, −1: no such job, −2: the lock is
--          lost, −3 − n: n children are staged, not as many as the ack says
-- uses: head, entry, outbox, stats

-- Acks free memory in the end, so they pass when there is none left: a write that needs
-- no memory opens the door for the others.
redis.call('UNLINK', PREFIX)

local COMPLETE, FAIL, CANCEL_ACK, RETRY, SNOOZE, RELEASE, FAN = 1, 2, 3, 4, 5, 6, 7
local FIRST, STRIDE = 4, 4

local ids = {}
for at = FIRST, #ARGV, STRIDE do
  ids[#ids + 1] = ARGV[at]
end
reserve_seqs(tonumber(ARGV[3]))
local heads, keys = {}, {}
for i, id in ipairs(ids) do
  keys[i] = HEAD .. id
end
if #keys > 0 then
  heads = redis.call('MGET', unpack(keys))
end
local watched = redis.call('EXISTS', WATCHED) == 1 and redis.call('HMGET', WATCHED, unpack(ids)) or {}

-- A plain job is active in its first run, and its end concerns nothing but its parent's
-- outbox, if it is a flow's child: it has no dedup key, no keep, no children, no cancel
-- requested, and nobody watches it.
-- Those of one claim have the same bytes in the part of their heads that tells of the run.
-- So that part is read once, and the others are only compared with it.

local done = {} -- id that an item of the batch had → its new head, if the job was plain
local plain_only = true
local ack_plain

do
  -- read_run reads the run of a head, if it is a plain job's under the token.
  local function read_run(head, token)
    local to = static_from(head) - 1
    local attempts, stalled, entries, _, processed_at, _, _, _, held_by, worker, reason =
      struct.unpack(RUN_FORMAT, head, RUN_FROM + 2)
    if held_by ~= token or attempts + stalled + entries > 0 or reason ~= '' then
      return nil
    end
    return { bytes = string.sub(head, RUN_FROM, to), processedAt = processed_at, claimed = number(processed_at),
      worker = worker, exits = {} }
  end

  local runs = {} -- token → the run that was read last

  local function run_of(head, token)
    local run = runs[token]
    if not run or string.find(head, run.bytes, RUN_FROM, true) ~= RUN_FROM then
      run = read_run(head, token)
      runs[token] = run
    end
    return run
  end

  -- ended_run returns the run of a plain job as it is when that has ended: what comes before
  -- the order of the finish, and after.
  local function ended_run(run, outcome, exit)
    local exits = run.exits[outcome]
    if not exits then
      exits = {}
      run.exits[outcome] = exits
    end
    local parts = exits[exit]
    if not parts then
      local last = pack_entry(outcome, run.processedAt, now8, run.worker, exit == '' and 0 or 1, exit)
      local before = struct.pack('>i4i4i8Bc8c8', 1, 0, 1, 3, run.processedAt, now8)
      local after = struct.pack('>c8HHHHc0', ZERO8, 0, 0, 0, #last, last)
      parts = { struct.pack('>H', #before + 8 + #after) .. before, after }
      exits[exit] = parts
    end
    return parts
  end

  local counting = setting('t')
  local kin -- the name and queue that were read last: their bytes, and where their jobs go

  -- kin_of returns those of a plain job, or nil. at is where they begin.
  local function kin_of(head, at)
    if kin and string.find(head, kin.bytes, at, true) == at then
      return kin
    end
    local name, queue, dedupe, keep = struct.unpack('>Bc0Bc0Bc0Bc0', head, at)
    if dedupe ~= '' or keep ~= '' then
      return nil
    end
    kin = { bytes = string.sub(head, at, at + 3 + #name + #queue), name = name, queue = queue, sums = counts_of(queue) }
    return kin
  end

  -- ways_of returns where the jobs of a kin go that end in a state.
  local function ways_of(found, ended)
    local ways = found[ended]
    if not ways then
      ways = { ended = bulk('ZADD', ENDED .. ended), group = bulk('ZADD', GROUP .. ended .. ':' .. found.name) }
      found[ended] = ways
    end
    return ways
  end

  local actives = bulk('ZREM', ACTIVE)
  local plain_flags = { [RAN] = true, [RAN + APART] = true, [RAN + BOUND] = true, [RAN + BOUND + APART] = true }

  -- ack_plain completes or fails a plain job, or returns nil. It does what ack does, only
  -- without taking the job apart.
  function ack_plain(at)
    local i = (at - FIRST) / STRIDE + 1
    local id, token, kind, exit, head = ids[i], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], heads[i]
    if not head or kind ~= '1' and kind ~= '2' or #exit > INLINE_EXIT or watched[i] or done[id] then
      return nil
    end
    local state, flags = string.byte(head, 1, 2)
    local run = state == ACTIVE_STATE and plain_flags[flags] and run_of(head, token)
    if not run then
      return nil
    end
    local static = RUN_FROM + #run.bytes
    local found = kin_of(head, static + 8)
    if not found then
      return nil
    end
    local ended, outcome = COMPLETED, BY_COMPLETE
    if kind == '2' then
      ended, outcome = FAILED, BY_FAIL
    end
    local finish, parts, ways, sums = next_seq(), ended_run(run, outcome, exit), ways_of(found, ended), found.sums
    local new_head = string.char(ended, flags + RETAINED) .. string.sub(head, 3, RUN_FROM - 1) .. parts[1] .. finish ..
      parts[2] .. string.sub(head, static)
    done[id] = new_head
    if plain_only then
      append_pair(values, keys[i], new_head)
    else
      new_heads[id] = new_head
    end
    actives[#actives + 1] = id
    append_pair(ways.ended, now_text, id)
    append_pair(ways.group, now_text, finish .. id)
    sums[ACTIVE_STATE], sums[ended] = sums[ACTIVE_STATE] - 1, sums[ended] + 1
    give_up(token)
    if counting then
      stats.add(outcome, found.queue, struct.unpack('>i8', head, 15), run.claimed)
    end
    local parent = flags >= BOUND and struct.unpack('>Hc0', head, static + 8 + #found.bytes) or ''
    if parent ~= '' then
      report_end(finish, id, parent, ended, exit, '')
    end
    return ended
  end
end

local reply, next_at = {}, FIRST
while next_at <= #ARGV do
  local state = ack_plain(next_at)
  if not state then
    break
  end
  reply[#reply + 1] = state
  next_at = next_at + STRIDE
end
if next_at > #ARGV then
  stats.write()
  flush_tally()
  return reply
end

-- uses: finish, fan_out

-- What follows looks for changed heads by id.
plain_only, values = false, {}
for id, new_head in pairs(done) do
  new_heads[id] = new_head
end

local function ack(at)
  local job = jobs[ARGV[at]]
  if not job then
    return -1
  end
  if job.state ~= ACTIVE_STATE or job.token ~= ARGV[at + 1] then
    return -2
  end
  local order, exit = ARGV[at + 2], ARGV[at + 3]
  local kind = string.byte(order) - 48
  if kind == 0 then
    return 0
  end
  if kind == COMPLETE or kind == FAIL or kind == CANCEL_ACK or kind == RETRY then
    job.attempts = job.attempts + 1
  end
  if kind == COMPLETE then
    finish(job, COMPLETED, BY_COMPLETE, exit, '')
    return COMPLETED
  elseif kind == FAIL then
    finish(job, FAILED, BY_FAIL, exit, '')
    return FAILED
  elseif kind == FAN then
    local state, staged = fan_out(job, string.sub(order, 2, 2) == '1', tonumber(string.sub(order, 3)))
    return state == 0 and -3 - staged or state
  elseif job.cancel or kind == CANCEL_ACK then
    cancel_job(job)
    return CANCELLED
  elseif kind == RELEASE then
    send_back(job, WAITING, false, false)
    return WAITING
  end
  if kind == RETRY then
    log(job, BY_RETRY, exit)
  end
  local state = string.byte(order, 2) - 48
  send_back(job, state, string.sub(order, 3), true)
  return state
end

allow_trims(#ids)
for at = next_at, #ARGV, STRIDE do
  -- A plain job is held against the trims that are due, too.
  local state = not next(trims_due) and ack_plain(at)
  if not state then
    local i = (at - FIRST) / STRIDE + 1
    done[ids[i]] = true
    know(ids[i], heads[i])
    state = stats.counted(jobs[ids[i]], string.byte(ARGV[at + 2]) - 48, ack, at)
  end
  reply[#reply + 1] = state
end
trim_all()
stats.write()
finish_call()
return reply
