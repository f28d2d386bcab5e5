-- Flows, as far as operations on jobs touch them.
-- uses: place

-- A flow is a table: id, number (of its rows, a text), fail_fast, pending, completed,
-- failed, cancelled, landed (8 bytes), early (whether it was settled early: then pending
-- rows read as cancelled and not cascaded), owed (how many rows read so).
local FLOW_FORMAT = '>BI4I4I4I4I4c8'

-- The flows that this call has met, by id; false: there is none.
local flows = {}

local function parse_flow(id, packed)
  local flow = { id = id }
  local marks, at
  marks, flow.pending, flow.completed, flow.failed, flow.cancelled, flow.owed, flow.landed, at =
    struct.unpack(FLOW_FORMAT, packed)
  flow.fail_fast, flow.early = bit_of(marks, 1), bit_of(marks, 2)
  flow.number = string.sub(packed, at)
  return flow
end

local function compose_flow(flow)
  return struct.pack(FLOW_FORMAT, (flow.fail_fast and 1 or 0) + (flow.early and 2 or 0),
    flow.pending, flow.completed, flow.failed, flow.cancelled, flow.owed, flow.landed) .. flow.number
end

-- get_flow returns the flow of a parent's id, or false.
local function get_flow(id)
  if flows[id] == nil then
    local packed = redis.call('GET', FLOW .. id)
    flows[id] = packed and parse_flow(id, packed)
  end
  return flows[id]
end

-- save_flow writes a flow when the call ends.
local function save_flow(flow)
  write(FLOW .. flow.id, compose_flow(flow))
end

-- back_of returns a score behind all others of an order of turns.
local function back_of(order)
  local last = redis.call('ZREVRANGE', order, 0, 0, 'WITHSCORES')
  return (tonumber(last[2]) or 0) + 1
end

-- leave_orders takes a flow out of what the sweeps follow.
local function leave_orders(id)
  zrem(FLOWSPARKED, id)
  zrem(FLOWSDUE, id)
  zrem(FLOWSOWING, id)
  zrem(FLOWSASKED, id)
end

-- abandon_rows makes the rows of a number invisible for good.
local function abandon_rows(number_text)
  if number_text ~= '' then
    erase(REQUESTS .. number_text)
    erase(FRESH .. number_text)
    erase(RETURNED .. number_text)
    erase(ASKED .. number_text)
    zadd(ABANDONED, tonumber(number_text), number_text)
  end
end

-- abandon_flow does so for a flow parent that is going.
local function abandon_flow(job)
  local flow = get_flow(job.id)
  if flow then
    leave_orders(job.id)
    erase(FLOW .. job.id)
    abandon_rows(flow.number)
    flows[job.id] = false
  end
end

-- staged_number returns under which number an active job stages children; empty: it has
-- not staged any.
local function staged_number(job)
  return job.staged and redis.call('GET', STAGED .. job.id) or ''
end

-- abandon_staged makes rows invisible that were staged under the lock that a job gives
-- up, and that have not landed.
local function abandon_staged(job)
  if job.staged then
    abandon_rows(staged_number(job))
    erase(STAGED .. job.id)
    job.staged = false
  end
end

-- owes_cascades reports whether a flow parent has children still to be cancelled.
local function owes_cascades(job)
  local flow = get_flow(job.id)
  return flow and flow.owed > 0
end

-- settle_early cancels the pending rows of a parked parent, by a mark. The caller makes
-- the parent terminal.
local function settle_early(job)
  local flow = get_flow(job.id)
  if not flow then
    return
  end
  leave_orders(job.id)
  flow.early = true
  flow.owed = flow.pending
  flow.cancelled = flow.cancelled + flow.pending
  flow.pending = 0
  if flow.owed > 0 then
    zadd(FLOWSOWING, back_of(FLOWSOWING), job.id)
  end
  save_flow(flow)
end

-- manifest_of returns the packed flow of a parent, for flow.go to read.
local function manifest_of(job)
  local flow = get_flow(job.id)
  return flow and compose_flow(flow) or ''
end
