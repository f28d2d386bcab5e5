-- Deletes entries of the outbox.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings; 3: ids of entries (8 bytes each), each once, in order
-- RETURNS  how many there were
-- uses: changes, block

local ids = ARGV[3]

-- remove takes a block, or what is left of one, from where it lies.
local function remove(store, key)
  put(OUTBOX, key, false)
  zrem(BOX .. store, key)
  zrem(READY .. store, key)
  zrem(HELD .. store, key)
end

-- left_of returns the places of the entries of a block that are not to be deleted, and
-- where in ids those behind the block begin. at is where those of the block may begin.
local function left_of(block, at)
  local left = {}
  for i = 1, block_length(block) do
    local id = block_id(block, i)
    while at < #ids and number(string.sub(ids, at, at + 7)) < number(id) do
      at = at + 8
    end
    if string.sub(ids, at, at + 7) == id then
      at = at + 8
    else
      left[#left + 1] = i
    end
  end
  return left, at
end

-- shrink leaves of a block the entries at some places.
local function shrink(store, key, block, left)
  local places, kept_ids, entries = block_places(block), {}, {}
  for n, i in ipairs(left) do
    kept_ids[n], entries[n] = block_id(block, i), string.sub(block, places[i], places[i + 1] - 1)
  end
  local held = redis.call('ZSCORE', HELD .. store, key)
  remove(store, key)
  key = kept_ids[#left]
  put(OUTBOX, key, block_begin(#left, table.concat(kept_ids)) .. table.concat(entries))
  zadd(BOX .. store, 0, key)
  zadd((held and HELD or READY) .. store, held or 0, key)
end

-- delete_from deletes what is in the blocks of one store, and returns how many entries.
local function delete_from(store)
  local at, deleted = 1, 0
  while at < #ids do
    local key = redis.call('ZRANGEBYLEX', BOX .. store, '[' .. string.sub(ids, at, at + 7), '+', 'LIMIT', 0, 1)[1]
    local block = key and redis.call('HGET', OUTBOX, key)
    if not key then
      break
    elseif not block then
      redis.call('ZREM', BOX .. store, key)
    else
      local n, left = block_length(block), {}
      if string.sub(ids, at, at + 8 * n - 1) == string.sub(block, 5, 4 + 8 * n) then
        at = at + 8 * n
      else
        left, at = left_of(block, at)
      end
      deleted = deleted + n - #left
      if #left == 0 then
        remove(store, key)
      elseif #left < n then
        shrink(store, key, block, left)
      end
    end
  end
  return deleted
end

local deleted = 0
for _, store in ipairs(redis.call('SMEMBERS', BOXES)) do
  local n = delete_from(store)
  if n > 0 then
    deleted = deleted + n
    flush_orders()
    if redis.call('EXISTS', BOX .. store) == 0 then
      redis.call('SREM', BOXES, store)
    end
  end
end
if deleted > 0 then
  redis.call('HINCRBY', META, 'reports', -deleted)
end
flush()
return deleted
