-- Reads the dependency rows of some child keys.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings; 3: id of the parent; 4: how many bytes to return, at
--          which the page ends; then child keys
-- RETURNS  1 if the flow was settled early, else 0; then the rows of the first keys, at
--          least one, as far as the page goes; an unknown one is empty
-- uses: flow

local flow = get_flow(ARGV[3])
local reply, size = { flow and flow.early and 1 or 0 }, 0
for from = 5, #ARGV, 50 do
  local keys = { unpack(ARGV, from, math.min(from + 49, #ARGV)) }
  local found = flow and flow.number ~= '' and redis.call('HMGET', ROWS .. flow.number, unpack(keys)) or {}
  for i = 1, #keys do
    local row = found[i] or ''
    size = size + #row
    if size > tonumber(ARGV[4]) and #reply > 1 then
      return reply
    end
    reply[#reply + 1] = row
  end
end
return reply
