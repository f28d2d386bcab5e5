-- Deletes entries of the outbox.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings; then ids of entries
-- RETURNS  how many there were
-- uses: changes

local ids = { unpack(ARGV, 3) }
local touched, deleted = {}, 0
for i, entry in ipairs(redis.call('HMGET', OUTBOX, unpack(ids))) do
  if entry then
    local store = struct.unpack('>Hc0', entry, 12)
    put(OUTBOX, ids[i], false)
    zrem(BOX .. store, ids[i])
    zrem(READY .. store, ids[i])
    zrem(HELD .. store, ids[i])
    touched[store] = true
    deleted = deleted + 1
  end
end
flush_orders()
for store in pairs(touched) do
  if redis.call('EXISTS', BOX .. store) == 0 then
    srem(BOXES, store)
  end
end
flush()
return deleted
