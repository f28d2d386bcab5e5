-- Reads a page of the outbox, in order, and may hold what it returns. A block of which a
-- holding peek returns a part is split there, so that holds are of whole blocks.
--
-- KEYS     1: the prefix
-- ARGV     1: now; 2: settings; 3: the most entries; 4: behind which id (8 bytes) the page
--          begins, or empty; 5: for how long to hold, or 0 to neither hold nor mind holds;
--          6: how many bytes to return, at which the page ends; the first entry may pass
--          it; 7: 1 if the stores follow, 0 for any store; then keys of the parents' stores
-- RETURNS  1 if bytes ended the page, else 0; then the entries, in blocks: those of
--          different stores are not in order
-- uses: changes, block

-- How many holds that have ended one call turns back, per store.
local MOST_ENDED = 1000

local limit, after, hold, room = tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local stores = ARGV[7] == '1' and { unpack(ARGV, 8) } or redis.call('SMEMBERS', BOXES)
local list = hold > 0 and READY or BOX

-- end_holds makes ready what is not held at now any more.
local function end_holds(store)
  local ended = redis.call('ZRANGEBYSCORE', HELD .. store, '-inf', now, 'LIMIT', 0, MOST_ENDED)
  if #ended == 0 then
    return
  end
  local ready = {}
  for _, key in ipairs(ended) do
    append_pair(ready, 0, key)
  end
  each('ZREM', HELD .. store, ended)
  each('ZADD', READY .. store, ready)
end

-- first_behind returns the place of a block's first entry behind ARGV[4].
local function first_behind(block)
  local i = 1
  while after ~= '' and number(block_id(block, i)) <= number(after) do
    i = i + 1
  end
  return i
end

local found = {} -- parts of blocks: store, key, block, from, to, bytes

-- find adds a store's first entries, as many as the page can have of it.
local function find(store)
  local begin, entries, size, step = after == '' and '-' or '(' .. after, 0, 0, 4
  while entries < limit and size <= room do
    local keys = redis.call('ZRANGEBYLEX', list .. store, begin, '+', 'LIMIT', 0, step)
    for _, key in ipairs(keys) do
      local block = redis.call('HGET', OUTBOX, key)
      if block then
        local part = { store = store, key = key, block = block, from = first_behind(block), to = block_length(block) }
        found[#found + 1] = part
        entries, size = entries + part.to - part.from + 1, size + #block
        if entries >= limit or size > room then
          return
        end
      else
        zrem(BOX .. store, key)
        zrem(READY .. store, key)
      end
    end
    if #keys < step then
      return
    end
    begin, step = '(' .. keys[step], 4 * step
  end
end

-- places_of returns where the entries of a part's block are.
local function places_of(part)
  part.places = part.places or block_places(part.block)
  return part.places
end

local whole, taken, used = true, 0, 0 -- whether all that was found fits; what the page has

-- take_whole takes a part as it is, if it is a block that fits into the page, and tells
-- whether it did.
local function take_whole(part)
  local n = part.to - part.from + 1
  if part.from > 1 or taken + n > limit or used + #part.block > room then
    return false
  end
  taken, used = taken + n, used + #part.block
  return true
end

-- take_one takes an entry of a part, and tells whether the page had room for it.
local function take_one(part, i)
  local places = places_of(part)
  local size = places[i + 1] - places[i]
  if taken == limit or taken > 0 and used + size > room then
    whole = taken == limit
    return false
  end
  taken, used = taken + 1, used + size
  return true
end

-- cut_in_turn ends the page within the parts of one store.
local function cut_in_turn()
  local full = false
  for _, part in ipairs(found) do
    if full then
      part.to = part.from - 1
    elseif not take_whole(part) then
      for i = part.from, part.to do
        if not take_one(part, i) then
          part.to, full = i - 1, true
          break
        end
      end
    end
  end
end

-- cut_merged ends the page within the parts of several stores, whose ids may be mixed.
local function cut_merged()
  local all = {}
  for _, part in ipairs(found) do
    for i = part.from, part.to do
      all[#all + 1] = { id = number(block_id(part.block, i)), part = part, i = i }
    end
    part.to = part.from - 1
  end
  table.sort(all, function(a, b) return a.id < b.id end)
  for _, entry in ipairs(all) do
    if not take_one(entry.part, entry.i) then
      return
    end
    entry.part.to = entry.i
  end
end

-- place_block puts a block where it belongs.
local function place_block(store, key, block, held)
  put(OUTBOX, key, block)
  zadd(BOX .. store, 0, key)
  zadd(READY .. store, not held and 0, key)
  if held then
    zadd(HELD .. store, now + hold, key)
  end
end

-- hold_part hides what is returned of a block.
local function hold_part(part)
  local block, n = part.block, block_length(part.block)
  if part.from == 1 and part.to == n then
    zrem(READY .. part.store, part.key)
    zadd(HELD .. part.store, now + hold, part.key)
    return
  end
  local places = places_of(part)
  for _, piece in ipairs({ { 1, part.from - 1 }, { part.from, part.to, true }, { part.to + 1, n } }) do
    local from, to, held = unpack(piece)
    if from <= to then
      place_block(part.store, block_id(block, to), block_part(block, places, from, to), held)
    end
  end
end

local with_entries = 0
for _, store in ipairs(stores) do
  if hold > 0 then
    end_holds(store)
  end
  local before = #found
  find(store)
  with_entries = with_entries + (#found > before and 1 or 0)
end
if with_entries > 1 then
  cut_merged()
else
  cut_in_turn()
end
local reply = { whole and 0 or 1 }
for _, part in ipairs(found) do
  if part.from <= part.to then
    local all = part.from == 1 and part.to == block_length(part.block)
    reply[#reply + 1] = all and part.block or block_part(part.block, places_of(part), part.from, part.to)
    if hold > 0 then
      hold_part(part)
    end
  end
end
flush_orders()
flush_fields()
return reply
