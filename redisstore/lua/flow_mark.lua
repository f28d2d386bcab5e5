-- Marks owed rows as cascaded. The mark that pays a terminal parent's last debt hands it
-- to retention.
--
-- KEYS     1: the prefix
-- ARGV     1: now; 2: settings; then for each row: flow id, child key
-- RETURNS  how many rows were marked
-- uses: finish, flow_row, flow_turns

-- A marked row frees memory in the end: see ack.lua.
redis.call('UNLINK', PREFIX)

allow_trims((#ARGV - 2) / 2)
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
  if flow and flow.early and flow.owed > 0 then
    local rows_by_key = load_rows(flow, keys_of[id])
    local paid = {}
    for _, key in ipairs(keys_of[id]) do
      local row = rows_by_key[key]
      if row and row.status == PENDING_ROW then
        row.status = CANCELLED_ROW
        settle_row(flow, row)
        zrem(ASKED .. flow.number, key)
        flow.owed = flow.owed - 1
        paid[#paid + 1] = key
      end
    end
    if #paid > 0 then
      marked = marked + #paid
      paying[#paying + 1] = flow
      save_flow(flow)
      if flow.owed == 0 and terminal(jobs[id].state) then
        trim_before(jobs[id])
        retain(jobs[id])
        trim(jobs[id])
      end
    end
  end
end
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
