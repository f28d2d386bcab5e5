-- Records children's reports: first all rows, then at most one settle per flow.
--
-- KEYS     1: the prefix
-- ARGV     1: now; 2: settings; then runs of reports to one flow, for each: the flow's id,
--          how many reports, and for each of these: the child's key; what its row begins
--          with, which is the outcome and 1 (1 byte each) and, to be checked, the child's
--          job id behind its length; what its row ends with: the failed reason behind its
--          length, and the exit
-- RETURNS  a digit for each report: 0 not applied, 1 applied, 2 it settled its parent
-- uses: finish, flow

-- A settled row frees memory in the end: see ack.lua.
redis.call('UNLINK', PREFIX)

local PENDING_ROW, FAILED_ROW = 1, 3
local COUNTERS = { [2] = 'completed', [3] = 'failed', [4] = 'cancelled' }
local FIRST, STRIDE = 3, 3

local answers, last = {}, {} -- the digits; the place of a flow's last report that applied
local touched, failed = {}, {} -- flows to which reports applied; their first failed children
local settled = {} -- flow's id → key → whether a report of this call applied to the row

-- apply records a report to a pending row, of which only the beginning and the end change:
-- between them are the child's store and name. It returns the row, or nil.
local function apply(flow, row, begins, ends)
  local outcome = string.byte(begins)
  local counter = COUNTERS[outcome]
  if not row or not counter or string.byte(row) ~= PENDING_ROW or
    #begins > 2 and string.sub(row, 3, #begins) ~= string.sub(begins, 3) then
    return nil
  end
  flow.pending = flow.pending - 1
  flow[counter] = flow[counter] + 1
  return begins .. string.sub(row, #begins + 1, -5) .. ends
end

-- note_applied notes that a report applied, for the settle.
local function note_applied(id, key, outcome)
  if not last[id] then
    touched[#touched + 1] = id
  end
  last[id] = #answers
  if outcome == FAILED_ROW and not failed[id] then
    failed[id] = key
  end
end

-- record_run records n reports to one flow, which lie in ARGV from a place on.
local function record_run(flow, from, n)
  local keys, number_text = {}, flow.number
  for i = 1, n do
    keys[i] = ARGV[from + (i - 1) * STRIDE]
  end
  local rows, done = redis.call('HMGET', ROWS .. number_text, unpack(keys)), settled[flow.id] or {}
  settled[flow.id] = done
  local written, requests = bulk('HSET', ROWS .. number_text), bulk('HDEL', REQUESTS .. number_text)
  local fresh = bulk('ZREM', FRESH .. number_text)
  local returned = redis.call('EXISTS', RETURNED .. number_text) == 1 and bulk('ZREM', RETURNED .. number_text)
  for i, key in ipairs(keys) do
    local at = from + (i - 1) * STRIDE
    local row = not done[key] and apply(flow, rows[i], ARGV[at + 1], ARGV[at + 2])
    answers[#answers + 1] = row and '1' or '0'
    if row then
      done[key] = true
      append_pair(written, key, row)
      requests[#requests + 1], fresh[#fresh + 1] = key, key
      if returned then
        returned[#returned + 1] = key
      end
      note_applied(flow.id, key, string.byte(row))
    end
  end
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

local runs, ids, at = {}, {}, FIRST
while at <= #ARGV do
  local run = { id = ARGV[at], n = tonumber(ARGV[at + 1]), from = at + 2 }
  runs[#runs + 1], ids[#ids + 1] = run, run.id
  at = run.from + run.n * STRIDE
end
load(ids)
for _, run in ipairs(runs) do
  local flow = jobs[run.id] and jobs[run.id].state == PARKED_STATE and get_flow(run.id)
  if flow and flow.number ~= '' then
    record_run(flow, run.from, run.n)
  else
    answers[#answers + 1] = string.rep('0', run.n)
  end
end
allow_trims(#answers)
for _, id in ipairs(touched) do
  if settle(id, failed[id]) then
    answers[last[id]] = '2'
  end
end
trim_all()
finish_call()
return table.concat(answers)
