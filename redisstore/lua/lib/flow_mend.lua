-- Entering rows and the outbox's blocks anew where their places were lost, in pages.
-- uses: flow_audit, block

-- mend_row puts a row of a flow where it belongs.
local function mend_row(flow, key, row)
  zadd(CHILDREN .. flow.number, 0, key)
  local placed = false
  for _, set in ipairs({ FRESH, RETURNED, ASKED }) do
    placed = placed or redis.call('ZSCORE', set .. flow.number, key)
  end
  local open = string.byte(row) == 1
  if open and not placed then
    zadd(FRESH .. flow.number, 0, key)
  elseif not open and placed then
    for _, set in ipairs({ FRESH, RETURNED, ASKED }) do
      zrem(set .. flow.number, key)
    end
  end
end

-- mend_block puts a block of the outbox where it belongs.
local function mend_block(key, block)
  local store = block_store(block)
  sadd(BOXES, store)
  zadd(BOX .. store, 0, key)
  if not redis.call('ZSCORE', HELD .. store, key) then
    zadd(READY .. store, 0, key)
  end
end

-- mend does one page of what audits have asked for.
local function mend(limit)
  local asked = redis.call('HSCAN', MENDING, 0, 'COUNT', 1)[2]
  local id, cursor = asked[1], asked[2]
  if not id then
    return
  end
  local flow = id ~= '' and get_flow(id)
  if id ~= '' and not flow then
    redis.call('HDEL', MENDING, id)
    return
  end
  local page = redis.call('HSCAN', flow and ROWS .. flow.number or OUTBOX, cursor, 'COUNT', limit)
  for i = 1, #page[2], 2 do
    if flow then
      mend_row(flow, page[2][i], page[2][i + 1])
    else
      mend_block(page[2][i], page[2][i + 1])
    end
  end
  put(MENDING, id, page[1] ~= '0' and page[1])
  flush_orders()
  if flow then
    enter_orders(flow)
  end
  flush()
end
