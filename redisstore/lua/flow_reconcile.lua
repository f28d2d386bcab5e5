-- Takes rows that have been pending for long. Flows whose time has come stand in a
-- rotation; each gives what the page has room for and goes to the back. A row that is
-- returned waits for another age.
--
-- KEYS     1: the prefix
-- ARGV     1: now; 2: settings; 3: the age from which a row has been pending for long; 4:
--          the most rows; 5: how many bytes to return, at which the page ends; the first
--          row may pass it
-- RETURNS  1 if bytes ended the page, else 0; 1 if there may be more, else 0; then each
--          row: flow id, key, row, request
-- uses: flow

local latest, limit, bytes_left = now - ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local reply = { 0, 0 }
local taken = 0

-- turn_to_due puts flows whose time has come into the rotation.
local function turn_to_due()
  local come = redis.call('ZRANGEBYSCORE', FLOWSPARKED, '-inf', latest, 'LIMIT', 0, limit)
  if #come > 0 then
    local back, entries = back_of(FLOWSDUE), {}
    for i, id in ipairs(come) do
      entries[#entries + 1] = back + i - 1
      entries[#entries + 1] = id
    end
    each('ZREM', FLOWSPARKED, come)
    each('ZADD', FLOWSDUE, entries)
  end
  return #come == limit
end

-- due_keys returns up to n keys of rows that are due: those that no sweep has returned
-- first.
local function due_keys(flow, n)
  local keys = {}
  if number(flow.landed) <= latest then
    keys = redis.call('ZRANGE', FRESH .. flow.number, 0, n - 1)
  end
  if #keys < n then
    for _, key in ipairs(redis.call('ZRANGEBYSCORE', RETURNED .. flow.number, '-inf', latest, 'LIMIT', 0, n - #keys)) do
      keys[#keys + 1] = key
    end
  end
  return keys
end

-- take moves one row to the reply, and reports whether there was room for it.
local function take(flow, key)
  local row = redis.call('HGET', ROWS .. flow.number, key)
  local request = redis.call('HGET', REQUESTS .. flow.number, key)
  local size = row and request and #row + #request or 0
  if taken == limit or size > bytes_left and taken > 0 then
    reply[1] = taken < limit and 1 or 0
    return false
  end
  redis.call('ZREM', FRESH .. flow.number, key)
  if row and request then
    redis.call('ZADD', RETURNED .. flow.number, now, key)
    bytes_left = bytes_left - size
    taken = taken + 1
    local at = #reply
    reply[at + 1], reply[at + 2], reply[at + 3], reply[at + 4] = flow.id, key, row, request
  else
    redis.call('ZREM', RETURNED .. flow.number, key)
  end
  return true
end

-- visit takes what the page has room for of the first flow of the rotation.
local function visit(id)
  local flow = get_flow(id)
  if not flow or flow.pending == 0 then
    redis.call('ZREM', FLOWSDUE, id)
    return
  end
  local more = false
  for _, key in ipairs(due_keys(flow, limit - taken + 1)) do
    if not take(flow, key) then
      more = true
      break
    end
  end
  redis.call('ZREM', FLOWSDUE, id)
  if more then
    redis.call('ZADD', FLOWSDUE, back_of(FLOWSDUE), id)
    return
  end
  local earliest = redis.call('ZRANGE', RETURNED .. flow.number, 0, 0, 'WITHSCORES')[2]
  if not earliest or redis.call('ZCARD', FRESH .. flow.number) > 0 then
    earliest = math.min(number(flow.landed), tonumber(earliest) or now)
  end
  redis.call('ZADD', FLOWSPARKED, earliest, id)
end

local more_come = turn_to_due()
local visits = redis.call('ZCARD', FLOWSDUE)
for n = 1, math.min(visits, limit) do
  if taken == limit or reply[1] == 1 then
    break
  end
  visit(redis.call('ZRANGE', FLOWSDUE, 0, 0)[1])
end
if more_come or redis.call('EXISTS', FLOWSDUE) == 1 then
  reply[2] = 1
end
return reply
