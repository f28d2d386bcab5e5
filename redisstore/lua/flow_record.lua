-- Records children's reports: first all rows, then at most one settle per flow.
--
-- KEYS     1: the prefix
-- ARGV     1: now; 2: settings; then for each report: flow id, child key, outcome as a
--          digit, child's job id or empty, failed reason, exit
-- RETURNS  a digit for each report: 0 not applied, 1 applied, 2 it settled its parent
-- uses: finish, flow_row

-- A settled row frees memory in the end: see ack.lua.
redis.call('UNLINK', PREFIX)

local FIELDS = 6
local COUNTERS = { ['2'] = 'completed', ['3'] = 'failed', ['4'] = 'cancelled' }

-- rows_of_batch returns the rows that the batch is about, by flow and key, read once per
-- flow; only of flows whose parents are parked.
local function rows_of_batch()
  local ids, keys_of, rows_of = {}, {}, {}
  for i = 3, #ARGV, FIELDS do
    local id = ARGV[i]
    if not keys_of[id] then
      keys_of[id] = {}
      ids[#ids + 1] = id
    end
    table.insert(keys_of[id], ARGV[i + 1])
  end
  load(ids)
  for _, id in ipairs(ids) do
    local flow = jobs[id] and jobs[id].state == PARKED_STATE and get_flow(id)
    rows_of[id] = flow and load_rows(flow, keys_of[id])
  end
  return rows_of
end

-- apply records one report, which lies in ARGV from i on, and tells whether it applied.
local function apply(rows_of, i)
  local id, child_id = ARGV[i], ARGV[i + 3]
  local row, counter = rows_of[id] and rows_of[id][ARGV[i + 1]], COUNTERS[ARGV[i + 2]]
  if not row or not counter or row.status ~= PENDING_ROW or child_id ~= '' and child_id ~= row.id then
    return false
  end
  local flow = flows[id]
  row.status, row.reason, row.exit = tonumber(ARGV[i + 2]), ARGV[i + 4], ARGV[i + 5]
  settle_row(flow, row)
  flow.pending = flow.pending - 1
  flow[counter] = flow[counter] + 1
  return true
end

-- settle settles a parent if what was recorded does, and tells whether. failed_key is the
-- child of the first failure, or nil.
local function settle(id, failed_key)
  local flow, parent = flows[id], jobs[id]
  if flow.fail_fast and failed_key then
    settle_early(parent)
    finish(parent, FAILED, BY_FAIL, '', 'flow child "' .. failed_key .. '" failed')
    return true
  end
  save_flow(flow)
  if flow.pending > 0 then
    return false
  end
  leave_orders(id)
  send_back(parent, WAITING, now8, false)
  return true
end

-- record works on the batch, and returns the digits of the reply.
local function record()
  local rows_of = rows_of_batch()
  local answers, touched, last, failed = {}, {}, {}, {}
  for i = 3, #ARGV, FIELDS do
    local n, id = #answers + 1, ARGV[i]
    answers[n] = '0'
    if apply(rows_of, i) then
      answers[n] = '1'
      if not last[id] then
        touched[#touched + 1] = id
      end
      last[id] = n
      if ARGV[i + 2] == '3' and not failed[id] then
        failed[id] = ARGV[i + 1]
      end
    end
  end
  for _, id in ipairs(touched) do
    if settle(id, failed[id]) then
      answers[last[id]] = '2'
    end
  end
  return table.concat(answers)
end

allow_trims((#ARGV - 2) / FIELDS)
local reply = record()
trim_all()
finish_call()
return reply
