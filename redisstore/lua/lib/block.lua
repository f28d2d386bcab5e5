-- Blocks of the outbox: what one call reports to one store lies together.
-- uses: tally

-- A block is the number of its entries (4 bytes), their ids (8 each) in order, and the
-- entries, each behind 4 bytes of length. Its key is the id of its last entry.
local function block_begin(n, ids)
  return struct.pack('>I4', n) .. ids
end

local function block_length(block)
  return (struct.unpack('>I4', block))
end

-- block_id returns the id of an entry of a block, by its place.
local function block_id(block, i)
  return string.sub(block, 8 * i - 3, 8 * i + 4)
end

-- block_store returns the key of the store that a block's entries go to.
local function block_store(block)
  return (struct.unpack('>Hc0', block, 4 + 8 * block_length(block) + 4 + 9 + 2 + 1))
end

-- block_time returns when the first entry's child ended.
local function block_time(block)
  local at = 4 + 8 * block_length(block) + 4 + 1
  return string.sub(block, at, at + 7)
end

-- block_places returns where each entry of a block begins, and where the last ends.
local function block_places(block)
  local n = block_length(block)
  local places, at = {}, 5 + 8 * n
  for i = 1, n do
    places[i] = at
    at = at + 4 + struct.unpack('>I4', block, at)
  end
  places[n + 1] = at
  return places
end

-- block_part returns some entries of a block as a block; places are those of all.
local function block_part(block, places, from, to)
  return block_begin(to - from + 1, string.sub(block, 8 * from - 3, 8 * to + 4)) ..
    string.sub(block, places[from], places[to + 1] - 1)
end
