-- Dependency rows; flow_row.go tells their layout.
-- uses: flow

local PENDING_ROW, CANCELLED_ROW = 1, 4

-- The rows that this call has met, by number and key; false: there is none.
local rows = {}

-- load_rows reads rows of a flow, unless they are known already, and returns those of
-- the flow by key. A row is a table: key, status, cascaded, id, origin, reason, exit.
local function load_rows(flow, keys)
  local known = rows[flow.number] or {}
  rows[flow.number] = known
  local missing = {}
  for _, key in ipairs(keys) do
    if known[key] == nil then
      known[key] = false
      missing[#missing + 1] = key
    end
  end
  if #missing > 0 and flow.number ~= '' then
    for i, packed in ipairs(redis.call('HMGET', ROWS .. flow.number, unpack(missing))) do
      if packed then
        local row = { key = missing[i] }
        local at
        row.status, row.cascaded, row.id, row.origin, row.reason, at = struct.unpack('>BBHc0Hc0I4c0', packed)
        row.exit = string.sub(packed, at)
        known[row.key] = row
      end
    end
  end
  return known
end

-- settle_row writes a row that is open no more.
local function settle_row(flow, row)
  put(ROWS .. flow.number, row.key, struct.pack('>BBHc0Hc0I4c0', row.status, 1,
    #row.id, row.id, #row.origin, row.origin, #row.reason, row.reason) .. row.exit)
  put(REQUESTS .. flow.number, row.key, false)
  zrem(FRESH .. flow.number, row.key)
  zrem(RETURNED .. flow.number, row.key)
end
