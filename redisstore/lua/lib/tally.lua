-- What a call changes of many jobs alike, collected and made at its end: members of
-- sorted sets and sets, fields, values, counters, wakes. So a script that is refused for want of
-- memory has changed nothing: taking out comes first, and once anything was written the
-- server lets the rest pass. What is collected here cannot be read from the server before
-- it is flushed.
-- uses: base

local BULK_COMMANDS = { 'ZREM', 'SREM', 'HDEL', 'ZADD', 'SADD', 'HSET' }
local bulks = { ZREM = {}, SREM = {}, HDEL = {}, ZADD = {}, SADD = {}, HSET = {} } -- command → key → its arguments
local new_heads = {} -- id → head, to be written
local values = {} -- other keys and values in turn, for MSET
local counts = {} -- queue → state, or 0 for all → how many more
local woken = {}  -- queues to wake
local unheld = {} -- token → how many jobs it holds no more
local before_flush -- what else is to be collected before the bulks are flushed, or nil

-- each calls redis with the arguments in pieces that fit the stack of Lua.
local function each(command, key, args)
  for from = 1, #args, 4000 do
    redis.call(command, key, unpack(args, from, math.min(from + 3999, #args)))
  end
end

-- bulk returns the arguments of one of these commands, for a script to append to: score and
-- member in turn, members, field and value in turn, or fields. What it takes out is taken
-- out before anything is entered; it must not take out what it has entered.
local function bulk(command, key)
  local keys = bulks[command]
  local args = keys[key]
  if not args then
    args = {}
    keys[key] = args
  end
  return args
end

-- append_pair appends two values to a list.
local function append_pair(list, first, second)
  local n = #list
  list[n + 1], list[n + 2] = first, second
end

-- counts_of returns what changes of a queue's numbers of jobs, by state; 0: of all.
local function counts_of(queue)
  local sums = counts[queue]
  if not sums then
    sums = { [0] = 0, 0, 0, 0, 0, 0, 0, 0 }
    counts[queue] = sums
  end
  return sums
end

-- wake wakes the waiters of a queue when the call ends.
local function wake(queue)
  woken[queue] = true
end

-- give_up notes that a token holds a job no more.
local function give_up(token)
  unheld[token] = (unheld[token] or 0) + 1
end

-- publish sends a message on a channel.
local function publish(channel, message)
  redis.call(setting('s') and 'SPUBLISH' or 'PUBLISH', channel, message)
end

-- Seqs are drawn from the counter in one go where a call knows how many it needs.
local seq_next, seqs_left = 0, 0

local function reserve_seqs(n)
  if n > seqs_left then
    seq_next = redis.call('HINCRBY', META, 'seq', n) - n + 1
    seqs_left = n
  end
end

-- next_seq returns a seq behind all others.
local function next_seq()
  reserve_seqs(1)
  seq_next, seqs_left = seq_next + 1, seqs_left - 1
  return bytes(seq_next - 1)
end

local function flush_bulks()
  if before_flush then
    before_flush()
  end
  for _, command in ipairs(BULK_COMMANDS) do
    for key, args in pairs(bulks[command]) do
      each(command, key, args)
    end
    bulks[command] = {}
  end
end

local function flush_values()
  for id, head in pairs(new_heads) do
    values[#values + 1] = HEAD .. id
    values[#values + 1] = head
  end
  for from = 1, #values, 4000 do
    redis.call('MSET', unpack(values, from, math.min(from + 3999, #values)))
  end
  new_heads, values = {}, {}
end

-- flush_counts makes the collected changes of counters. A queue without a job is
-- forgotten.
local function flush_counts()
  local total = {}
  for queue, sums in pairs(counts) do
    local key = COUNTSQ .. queue
    local left = sums[0] ~= 0 and redis.call('HINCRBY', key, 'all', sums[0])
    if left and left <= 0 then
      redis.call('UNLINK', key, LANES .. queue)
      redis.call('ZREM', QUEUES, queue)
      redis.call('HDEL', WAKES, queue)
    elseif left == sums[0] then -- it had none
      redis.call('ZADD', QUEUES, 0, queue)
    end
    for state = 1, 7 do
      if sums[state] ~= 0 then
        total[state] = (total[state] or 0) + sums[state]
        if not left or left > 0 then
          redis.call('HINCRBY', key, state, sums[state])
        end
      end
    end
  end
  for state, sum in pairs(total) do
    if sum ~= 0 then
      redis.call('HINCRBY', COUNTS, state, sum)
    end
  end
  counts = {}
end

-- flush_wakes numbers the wakes, and tells those who wait for one.
local function flush_wakes()
  local turn
  for queue in pairs(woken) do
    turn = turn or redis.call('HINCRBY', WAKES, '', 1)
    redis.call('HSET', WAKES, queue, turn)
    if redis.call('SREM', ARMED, queue) == 1 then
      publish(WAKE .. queue, turn)
    end
  end
  woken = {}
end

-- flush_holds forgets the claims of which no job is held any more.
local function flush_holds()
  for token, n in pairs(unheld) do
    if redis.call('HINCRBY', CLAIMED .. token, 'held', -n) <= 0 then
      redis.call('UNLINK', CLAIMED .. token)
    end
  end
  unheld = {}
end

-- flush_tally makes all that was collected here.
local function flush_tally()
  flush_bulks()
  flush_values()
  flush_counts()
  flush_holds()
  flush_wakes()
end
