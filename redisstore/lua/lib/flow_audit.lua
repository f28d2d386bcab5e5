-- Holds flows and the outbox against what sweeps and relays follow.
-- uses: flow_turns

-- ask_mending has a flow's rows, or with an empty id the outbox, entered anew where they
-- are missing: flow_sweep does it in pages. It returns 1 if that was not asked before.
local function ask_mending(id)
  if redis.call('HEXISTS', MENDING, id) == 1 then
    return 0
  end
  put(MENDING, id, '0')
  return 1
end

-- enter_orders puts a flow where the sweeps look for it, and returns how many entries
-- were missing.
local function enter_orders(flow)
  local missing = 0
  local function demand_flow(order, score)
    zadd(order, score, flow.id)
    missing = missing + 1
  end
  if flow.pending > 0 and not redis.call('ZSCORE', FLOWSPARKED, flow.id) and not redis.call('ZSCORE', FLOWSDUE, flow.id) then
    demand_flow(FLOWSPARKED, number(flow.landed))
  end
  if flow.owed > 0 then
    if has_unasked(flow) and not redis.call('ZSCORE', FLOWSOWING, flow.id) then
      demand_flow(FLOWSOWING, back_of(FLOWSOWING))
    end
    local first = redis.call('ZRANGE', ASKED .. flow.number, 0, 0, 'WITHSCORES')
    if first[2] and not redis.call('ZSCORE', FLOWSASKED, flow.id) then
      demand_flow(FLOWSASKED, first[2])
    end
  end
  return missing
end

-- audit_flow checks a flow parent's flow, and returns how much was missing.
local function audit_flow(job)
  local flow = get_flow(job.id)
  if not flow or flow.number == '' then
    return 0
  end
  local missing = enter_orders(flow)
  local open = redis.call('ZCARD', FRESH .. flow.number) + redis.call('ZCARD', RETURNED .. flow.number) +
    redis.call('ZCARD', ASKED .. flow.number)
  if open ~= flow.pending + flow.owed or
    redis.call('ZCARD', CHILDREN .. flow.number) ~= redis.call('HLEN', ROWS .. flow.number) then
    missing = missing + ask_mending(job.id)
  end
  return missing
end

-- audit_outbox does so for the outbox.
local function audit_outbox()
  local blocks, placed = 0, 0
  for _, store in ipairs(redis.call('SMEMBERS', BOXES)) do
    blocks = blocks + redis.call('ZCARD', BOX .. store)
    placed = placed + redis.call('ZCARD', READY .. store) + redis.call('ZCARD', HELD .. store)
  end
  local all = redis.call('HLEN', OUTBOX)
  if all == 0 then
    redis.call('HDEL', META, 'reports')
  end
  if blocks ~= all or placed ~= all then
    return ask_mending('')
  end
  return 0
end
