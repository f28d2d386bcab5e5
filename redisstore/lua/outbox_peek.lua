-- Reads a page of the outbox, in order, and may hold what it returns.
--
-- KEYS     1: the prefix
-- ARGV     1: now; 2: settings; 3: the most entries; 4: where the page begins, as
--          ZRANGEBYLEX wants it; 5: for how long to hold, or 0 to neither hold nor mind
--          holds; 6: how many bytes to return, at which the page ends; the first entry may
--          pass it; 7: 1 if the stores follow, 0 for any store; then keys of the parents' stores
-- RETURNS  1 if bytes ended the page, else 0; then each entry: id, entry
-- uses: changes

-- How many holds that have ended one call turns back, per store.
local MOST_ENDED = 1000

local limit, hold = tonumber(ARGV[3]), tonumber(ARGV[5])
local stores = ARGV[7] == '1' and { unpack(ARGV, 8) } or redis.call('SMEMBERS', BOXES)
local list = hold > 0 and READY or BOX

-- end_holds makes ready what is not held at now any more.
local function end_holds(store)
  local ended = redis.call('ZRANGEBYSCORE', HELD .. store, '-inf', now, 'LIMIT', 0, MOST_ENDED)
  if #ended == 0 then
    return
  end
  local ready = {}
  for _, id in ipairs(ended) do
    ready[#ready + 1] = 0
    ready[#ready + 1] = id
  end
  each('ZREM', HELD .. store, ended)
  each('ZADD', READY .. store, ready)
end

-- The first entries of every store, merged. Their ids are digits of one width.
local found, store_of = {}, {}
for _, store in ipairs(stores) do
  if hold > 0 then
    end_holds(store)
  end
  for _, id in ipairs(redis.call('ZRANGEBYLEX', list .. store, ARGV[4], '+', 'LIMIT', 0, limit)) do
    if not store_of[id] then
      store_of[id] = store
      found[#found + 1] = id
    end
  end
end
table.sort(found)

local reply, size, held = { 0 }, 0, {}
for from = 1, math.min(#found, limit), 50 do
  local page = { unpack(found, from, math.min(from + 49, #found, limit)) }
  for i, entry in ipairs(redis.call('HMGET', OUTBOX, unpack(page))) do
    local id, store = page[i], store_of[page[i]]
    if entry then
      size = size + #entry
      if size > tonumber(ARGV[6]) and #reply > 1 then
        reply[1] = 1
        break
      end
      reply[#reply + 1] = id
      reply[#reply + 1] = entry
      if hold > 0 then
        zrem(READY .. store, id)
        zadd(HELD .. store, now + hold, id)
      end
    else
      zrem(BOX .. store, id)
      zrem(READY .. store, id)
    end
  end
  if reply[1] == 1 then
    break
  end
end
flush_orders()
return reply
