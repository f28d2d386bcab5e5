-- Marks owed rows as cascaded. The mark that pays a terminal parent's last debt hands it
-- to retention.
--
-- KEYS     1: the prefix
-- ARGV     1: now; 2: settings; then for each row: flow id, child key
-- RETURNS  how many rows were marked
-- uses: finish, flow_row, flow_turns

-- A marked row frees memory in the end: see ack.lua.
redis.call('UNLINK', PREFIX)

-- mark marks rows of one flow, and returns how many.
local function mark(flow, keys)
  local rows_by_key, marked = load_rows(flow, keys), 0
  for _, key in ipairs(keys) do
    local row = rows_by_key[key]
    if row and row.status == PENDING_ROW then
      row.status = CANCELLED_ROW
      settle_row(flow, row)
      zrem(ASKED .. flow.number, key)
      marked = marked + 1
    end
  end
  if marked > 0 then
    flow.owed = flow.owed - marked
    save_flow(flow)
  end
  return marked
end

-- mark_all marks the rows of the call. It returns how many, and their flows.
local function mark_all()
  local ids, keys_of = {}, {}
  for i = 3, #ARGV, 2 do
    local id = ARGV[i]
    if not keys_of[id] then
      keys_of[id] = {}
      ids[#ids + 1] = id
    end
    table.insert(keys_of[id], ARGV[i + 1])
  end
  load(ids)
  local marked, paying = 0, {}
  for _, id in ipairs(ids) do
    local flow = jobs[id] and get_flow(id)
    local n = flow and flow.early and flow.owed > 0 and mark(flow, keys_of[id]) or 0
    if n > 0 then
      marked = marked + n
      paying[#paying + 1] = flow
      if flow.owed == 0 and terminal(jobs[id].state) then
        trim(jobs[id])
        retain(jobs[id])
      end
    end
  end
  return marked, paying
end

allow_trims((#ARGV - 2) / 2)
local marked, paying = mark_all()
trim_all()
finish_call()
for _, flow in ipairs(paying) do
  if flows[flow.id] == flow then
    place_asked(flow)
    if not has_unasked(flow) then
      redis.call('ZREM', FLOWSOWING, flow.id)
    end
  end
end
return marked
