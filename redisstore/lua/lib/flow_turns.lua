-- The turns of flows that owe cascades.
-- uses: flow

-- place_asked gives a flow its place among those with rows that were returned as owed.
local function place_asked(flow)
  local first = redis.call('ZRANGE', ASKED .. flow.number, 0, 0, 'WITHSCORES')
  redis.call('ZREM', FLOWSASKED, flow.id)
  if first[2] then
    redis.call('ZADD', FLOWSASKED, first[2], flow.id)
  end
end

-- has_unasked tells whether a flow that owes has rows that were never returned as owed.
local function has_unasked(flow)
  return redis.call('EXISTS', FRESH .. flow.number, RETURNED .. flow.number) > 0
end
