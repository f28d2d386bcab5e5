-- The changes of a call, collected and made at its end, each key once. So a script that
-- is refused for want of memory has changed nothing: taking out comes first, and once
-- anything was written the server lets the rest pass. What is collected here cannot be
-- read from the server before flush.
-- uses: base

local zset_changes, zset_keys = {}, {}
local set_changes, set_keys = {}, {}
local BULK_COMMANDS = { 'ZREM', 'SREM', 'ZADD', 'SADD' }
local bulks = { ZREM = {}, SREM = {}, ZADD = {}, SADD = {} } -- command → key → its arguments
local value_changes = {} -- key → value, or false to delete the key
local values = {}        -- keys and values in turn, for MSET
local field_values = {}  -- hash → field → value, or false to delete the field
local counts = {}        -- queue → state, or 0 for all → how many more
local woken = {}         -- queues to wake

-- each calls redis with the arguments in pieces that fit the stack of Lua.
local function each(command, key, args)
  for from = 1, #args, 4000 do
    redis.call(command, key, unpack(args, from, math.min(from + 3999, #args)))
  end
end

-- zadd puts a member into a sorted set, or moves it. zrem takes it out.
local function zadd(key, score, member)
  local changes = zset_changes[key]
  if not changes then
    changes = {}
    zset_changes[key] = changes
    zset_keys[#zset_keys + 1] = key
  end
  changes[member] = score
end

local function zrem(key, member)
  zadd(key, false, member)
end

-- sadd and srem do so for a set.
local function sadd(key, member, present)
  local changes = set_changes[key]
  if not changes then
    changes = {}
    set_changes[key] = changes
    set_keys[#set_keys + 1] = key
  end
  changes[member] = present ~= false
end

local function srem(key, member)
  sadd(key, member, false)
end

-- write sets a string key; erase deletes a key of any type.
local function write(key, value)
  value_changes[key] = value
end

local function erase(key)
  value_changes[key] = false
end

-- put sets a field of a hash; value false deletes it.
local function put(key, field, value)
  local fields = field_values[key]
  if not fields then
    fields = {}
    field_values[key] = fields
  end
  fields[field] = value
end

-- bulk returns the arguments of a ZADD, ZREM, SADD or SREM, for a script to append to
-- that changes many members: score and member in turn, or members. What it takes out is
-- taken out before anything is entered; it must not take out what it has entered.
local function bulk(command, key)
  local keys = bulks[command]
  local args = keys[key]
  if not args then
    args = {}
    keys[key] = args
  end
  return args
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

-- count moves a number of jobs of a queue into a state; resident changes how many the
-- queue holds.
local function count(queue, state, delta)
  local sums = counts_of(queue)
  sums[state] = sums[state] + delta
end

local function resident(queue, delta)
  count(queue, 0, delta)
end

-- wake wakes the waiters of a queue when the call ends.
local function wake(queue)
  woken[queue] = true
end

-- publish sends a message on a channel.
local function publish(channel, message)
  redis.call(setting('s') and 'SPUBLISH' or 'PUBLISH', channel, message)
end

-- flush_orders makes the collected changes of sorted sets and sets.
local function flush_orders()
  for _, key in ipairs(zset_keys) do
    local out, into = bulk('ZREM', key), bulk('ZADD', key)
    for member, score in pairs(zset_changes[key]) do
      if score then
        into[#into + 1] = score
        into[#into + 1] = member
      else
        out[#out + 1] = member
      end
    end
  end
  for _, key in ipairs(set_keys) do
    local out, into = bulk('SREM', key), bulk('SADD', key)
    for member, present in pairs(set_changes[key]) do
      local args = present and into or out
      args[#args + 1] = member
    end
  end
  for _, command in ipairs(BULK_COMMANDS) do
    for key, args in pairs(bulks[command]) do
      each(command, key, args)
    end
    bulks[command] = {}
  end
  zset_changes, zset_keys, set_changes, set_keys = {}, {}, {}, {}
end

-- flush_values makes the collected changes of strings, and deletes keys.
local function flush_values()
  local unset = {}
  for key, value in pairs(value_changes) do
    if value then
      values[#values + 1] = key
      values[#values + 1] = value
    else
      unset[#unset + 1] = key
    end
  end
  for from = 1, #unset, 4000 do
    redis.call('UNLINK', unpack(unset, from, math.min(from + 3999, #unset)))
  end
  for from = 1, #values, 4000 do
    redis.call('MSET', unpack(values, from, math.min(from + 3999, #values)))
  end
  value_changes, values = {}, {}
end

-- flush_fields makes the collected changes of the fields of hashes.
local function flush_fields()
  for key, fields in pairs(field_values) do
    local set, unset = {}, {}
    for field, value in pairs(fields) do
      if value then
        set[#set + 1] = field
        set[#set + 1] = value
      else
        unset[#unset + 1] = field
      end
    end
    each('HDEL', key, unset)
    each('HSET', key, set)
  end
  field_values = {}
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
    elseif sums[0] > 0 then
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

-- flush makes all collected changes.
local function flush()
  flush_orders()
  flush_values()
  flush_fields()
  flush_counts()
  flush_wakes()
end
