-- Takes owed rows: first those that no sweep has returned as owed, their flows in
-- rotation; then those that were returned longest ago. What is returned goes behind all
-- others.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings; 3: the most rows; 4: the latest turn of the rows to
--          return, or empty for any
-- RETURNS  the latest turn before this call, or ARGV[4]; 1 if there may be more rows that
--          were returned before that turn, else 0; then each row: flow id, key, row
-- uses: flow_turns

local limit = tonumber(ARGV[3])
local latest = tonumber(ARGV[4]) or tonumber(redis.call('HGET', META, 'turn') or '0')
local taken = {} -- flow and key

local function take(flow, keys)
  redis.call('ZREM', FRESH .. flow.number, unpack(keys))
  redis.call('ZREM', RETURNED .. flow.number, unpack(keys))
  redis.call('ZREM', ASKED .. flow.number, unpack(keys))
  for _, key in ipairs(keys) do
    taken[#taken + 1] = { flow = flow, key = key }
  end
end

-- owing_flow returns a flow that still owes, or takes its id out of the order.
local function owing_flow(order, id)
  local flow = get_flow(id)
  if flow and flow.owed > 0 then
    return flow
  end
  redis.call('ZREM', order, id)
  return nil
end

-- take_unasked takes what the page has room for of the first flow of the rotation.
local function take_unasked()
  local id = redis.call('ZRANGE', FLOWSOWING, 0, 0)[1]
  local flow = id and owing_flow(FLOWSOWING, id)
  if not flow then
    return id ~= nil
  end
  for _, set in ipairs({ FRESH, RETURNED }) do
    if #taken < limit then
      local keys = redis.call('ZRANGE', set .. flow.number, 0, limit - #taken - 1)
      if #keys > 0 then
        take(flow, keys)
      end
    end
  end
  redis.call('ZREM', FLOWSOWING, id)
  if has_unasked(flow) then
    redis.call('ZADD', FLOWSOWING, back_of(FLOWSOWING), id)
  end
  return true
end

-- take_asked takes the rows that were returned longest ago, of one flow.
local function take_asked()
  local first = redis.call('ZRANGE', FLOWSASKED, 0, 1, 'WITHSCORES')
  local id = first[1]
  if not id or tonumber(first[2]) > latest then
    return false
  end
  local flow = owing_flow(FLOWSASKED, id)
  if flow then
    local upto = math.min(latest, tonumber(first[4]) or latest)
    local keys = redis.call('ZRANGEBYSCORE', ASKED .. flow.number, '-inf', upto, 'LIMIT', 0, limit - #taken)
    if #keys > 0 then
      take(flow, keys)
    end
    place_asked(flow)
  end
  return true
end

for _ = 1, limit do
  if #taken == limit or not take_unasked() then
    break
  end
end
for _ = 1, limit do
  if #taken == limit or not take_asked() then
    break
  end
end

local reply = { string.format('%.0f', latest), #taken == limit and 1 or 0 }
if #taken > 0 then
  local turn = redis.call('HINCRBY', META, 'turn', #taken) - #taken
  local placed = {}
  for n, item in ipairs(taken) do
    local flow = item.flow
    local row = redis.call('HGET', ROWS .. flow.number, item.key)
    if row then
      redis.call('ZADD', ASKED .. flow.number, turn + n, item.key)
      placed[flow.number] = flow
      local at = #reply
      reply[at + 1], reply[at + 2], reply[at + 3] = flow.id, item.key, row
    end
  end
  for _, flow in pairs(placed) do
    place_asked(flow)
  end
end
return reply
