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

local batch = (#ARGV - 2) / FIELDS
allow_trims(batch)

-- The rows that the batch is about, read once per flow.
local ids, keys_of = {}, {}
for i = 3, #ARGV, FIELDS do
  local id = ARGV[i]
  if not keys_of[id] then
    keys_of[id] = {}
    ids[#ids + 1] = id
  end
  table.insert(keys_of[id], ARGV[i + 1])
end
load(ids)
local rows_of = {}
for _, id in ipairs(ids) do
  local flow = jobs[id] and jobs[id].state == PARKED_STATE and get_flow(id)
  rows_of[id] = flow and load_rows(flow, keys_of[id])
end

local COUNTERS = { ['2'] = 'completed', ['3'] = 'failed', ['4'] = 'cancelled' }

-- apply records one report, and tells whether it applied.
local function apply(id, key, outcome, child_id, reason, exit)
  local row = rows_of[id] and rows_of[id][key]
  local counter = COUNTERS[outcome]
  if not row or not counter or row.status ~= PENDING_ROW or child_id ~= '' and child_id ~= row.id then
    return false
  end
  local flow = flows[id]
  row.status, row.reason, row.exit = tonumber(outcome), reason, exit
  settle_row(flow, row)
  flow.pending = flow.pending - 1
  flow[counter] = flow[counter] + 1
  return true
end

local answers, touched, last, failed = {}, {}, {}, {}
for n = 1, batch do
  local i = 3 + (n - 1) * FIELDS
  local id, key, outcome = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  answers[n] = '0'
  if apply(id, key, outcome, ARGV[i + 3], ARGV[i + 4], ARGV[i + 5]) then
    answers[n] = '1'
    if not last[id] then
      touched[#touched + 1] = id
    end
    last[id] = n
    if outcome == '3' and not failed[id] then
      failed[id] = key
    end
  end
end

for _, id in ipairs(touched) do
  local flow, parent = flows[id], jobs[id]
  if flow.fail_fast and failed[id] then
    settle_early(parent)
    finish(parent, FAILED, BY_FAIL, '', 'flow child "' .. failed[id] .. '" failed')
    answers[last[id]] = '2'
  else
    if flow.pending == 0 then
      leave_orders(id)
      send_back(parent, WAITING, now8, false)
      answers[last[id]] = '2'
    end
    save_flow(flow)
  end
end
trim_all()
finish_call()
return table.concat(answers)
