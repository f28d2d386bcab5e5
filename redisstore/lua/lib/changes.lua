-- The changes of a call, collected and made at its end, each key once. So a script that
-- is refused for want of memory has changed nothing: taking out comes first, and once
-- anything was written the server lets the rest pass. What is collected here cannot be
-- read from the server before flush.
-- uses: base

local zset_changes, zset_keys = {}, {}
local set_changes, set_keys = {}, {}
local value_changes = {} -- key → value, or false to delete the key
local field_values = {}  -- hash → field → value, or false to delete the field
local field_sums = {}    -- hash → field → what to add
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
  local values = field_values[key]
  if not values then
    values = {}
    field_values[key] = values
  end
  values[field] = value
end

-- add adds to a field of a hash.
local function add(key, field, delta)
  local sums = field_sums[key]
  if not sums then
    sums = {}
    field_sums[key] = sums
  end
  sums[field] = (sums[field] or 0) + delta
end

-- count moves a number of jobs of a queue into a state; resident changes how many the
-- queue holds.
local function count(queue, state, delta)
  add(COUNTS, state, delta)
  add(COUNTSQ .. queue, state, delta)
end

local function resident(queue, delta)
  add(COUNTSQ .. queue, 'all', delta)
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
  local additions = {}
  for _, key in ipairs(zset_keys) do
    local out, enter = {}, {}
    for member, score in pairs(zset_changes[key]) do
      if score then
        enter[#enter + 1] = score
        enter[#enter + 1] = member
      else
        out[#out + 1] = member
      end
    end
    if #out > 0 then
      each('ZREM', key, out)
    end
    if #enter > 0 then
      additions[#additions + 1] = { 'ZADD', key, enter }
    end
  end
  for _, key in ipairs(set_keys) do
    local out, enter = {}, {}
    for member, present in pairs(set_changes[key]) do
      local list = present and enter or out
      list[#list + 1] = member
    end
    if #out > 0 then
      each('SREM', key, out)
    end
    if #enter > 0 then
      additions[#additions + 1] = { 'SADD', key, enter }
    end
  end
  zset_changes, zset_keys, set_changes, set_keys = {}, {}, {}, {}
  for _, addition in ipairs(additions) do
    each(addition[1], addition[2], addition[3])
  end
end

-- flush_values makes the collected changes of strings, and deletes keys.
local function flush_values()
  local set, unset = {}, {}
  for key, value in pairs(value_changes) do
    if value then
      set[#set + 1] = key
      set[#set + 1] = value
    else
      unset[#unset + 1] = key
    end
  end
  value_changes = {}
  for from = 1, #unset, 4000 do
    redis.call('UNLINK', unpack(unset, from, math.min(from + 3999, #unset)))
  end
  for from = 1, #set, 4000 do
    redis.call('MSET', unpack(set, from, math.min(from + 3999, #set)))
  end
end

-- flush_fields makes the collected changes of the fields of hashes.
local function flush_fields()
  for key, values in pairs(field_values) do
    local set, unset = {}, {}
    for field, value in pairs(values) do
      if value then
        set[#set + 1] = field
        set[#set + 1] = value
      else
        unset[#unset + 1] = field
      end
    end
    if #unset > 0 then
      each('HDEL', key, unset)
    end
    if #set > 0 then
      each('HSET', key, set)
    end
  end
  field_values = {}
end

-- flush_counts makes the collected changes of counters. A queue without a job is
-- forgotten.
local function flush_counts()
  for key, sums in pairs(field_sums) do
    for field, delta in pairs(sums) do
      if delta ~= 0 then
        local left = redis.call('HINCRBY', key, field, delta)
        if field == 'all' then
          local queue = string.sub(key, #COUNTSQ + 1)
          if left <= 0 then
            redis.call('DEL', key)
            redis.call('ZREM', QUEUES, queue)
            redis.call('HDEL', WAKES, queue)
            break
          elseif delta > 0 then
            redis.call('ZADD', QUEUES, 0, queue)
          end
        end
      end
    end
  end
  field_sums = {}
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
