-- Reads a page of a flow's dependency rows, in byte order of their keys.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings; 3: id of the parent; 4: where the page begins, as
--          ZRANGEBYLEX wants it; 5: the most rows; 6: how many bytes to return, at which
--          the page ends
-- RETURNS  1 if the flow was settled early, else 0; 1 if bytes ended the page, else 0; 1
--          if rows are left, else 0; then each row: key, row
-- uses: flow

local flow = get_flow(ARGV[3])
if not flow or flow.number == '' then
  return { 0, 0, 0 }
end
local limit, size = tonumber(ARGV[5]), 0
local keys = redis.call('ZRANGEBYLEX', CHILDREN .. flow.number, ARGV[4], '+', 'LIMIT', 0, limit + 1)
local reply = { flow.early and 1 or 0, 0, #keys > limit and 1 or 0 }
for from = 1, math.min(#keys, limit), 50 do
  local page = { unpack(keys, from, math.min(from + 49, #keys, limit)) }
  for i, row in ipairs(redis.call('HMGET', ROWS .. flow.number, unpack(page))) do
    if row then
      size = size + #row
      if size > tonumber(ARGV[6]) and #reply > 3 then
        reply[2], reply[3] = 1, 1
        return reply
      end
      reply[#reply + 1] = page[i]
      reply[#reply + 1] = row
    end
  end
end
return reply
