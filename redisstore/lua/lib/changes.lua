-- The single changes of a call, collected and made at its end, each key once, with those
-- of lib/tally.lua.
-- uses: tally

local zset_changes, zset_keys = {}, {}
local set_changes, set_keys = {}, {}
local value_changes = {} -- key → value, or false to delete the key
local field_values = {}  -- hash → field → value, or false to delete the field

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

-- count moves a number of jobs of a queue into a state; resident changes how many the
-- queue holds.
local function count(queue, state, delta)
  local sums = counts_of(queue)
  sums[state] = sums[state] + delta
end

local function resident(queue, delta)
  count(queue, 0, delta)
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
  flush_bulks()
  zset_changes, zset_keys, set_changes, set_keys = {}, {}, {}, {}
end

-- flush_keys sets and deletes the collected keys.
local function flush_keys()
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
  flush_values()
  value_changes = {}
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

-- flush makes all collected changes.
local function flush()
  flush_orders()
  flush_keys()
  flush_fields()
  flush_counts()
  flush_holds()
  flush_wakes()
end
