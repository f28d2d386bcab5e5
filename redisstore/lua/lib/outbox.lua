-- The outbox of children's outcomes.
-- uses: block

-- An entry is the time of the end (8 bytes), the status that the child reports (1), its
-- envelope and id (behind 2 bytes of length each), the reason (behind 4), and the exit.
-- The envelope begins with the key of the parent's store, behind 2 bytes of length.

-- The statuses that a child reports, by its terminal state.
local REPORTED = { [COMPLETED] = 2, [FAILED] = 3, [CANCELLED] = 4 }

-- A block ends at so many bytes: so it is split at little cost, and Lua puts it together in
-- one piece. Lua hashes all bytes of each string that it makes; to make few long ones is
-- what counts here.
local BLOCK_BYTES = 8000

-- The blocks that are being filled, by store: their ids, the pieces of which they will
-- consist, and how many bytes these have.
local filling = {}
local closed = 0 -- how many entries are in blocks that were closed

local function close_block(store, block)
  local n = #block.ids
  local key = block.ids[n]
  block.pieces[1] = block_begin(n, table.concat(block.ids))
  append_pair(bulk('HSET', OUTBOX), key, table.concat(block.pieces))
  append_pair(bulk('ZADD', BOX .. store), 0, key)
  append_pair(bulk('ZADD', READY .. store), 0, key)
  local stores = bulk('SADD', BOXES)
  stores[#stores + 1] = store
  filling[store] = nil
  closed = closed + n
end

-- close_blocks collects the blocks of all that was reported.
local function close_blocks()
  for store, block in pairs(filling) do
    close_block(store, block)
  end
  if closed > 0 then
    redis.call('HINCRBY', META, 'reports', closed)
    closed = 0
  end
end

-- report_end puts the end of a flow's child into the outbox, under an id (8 bytes) that was
-- drawn with the seqs: entries are ordered by these. parent is the child's packed
-- envelope; exit and reason are empty if there is none.
local function report_end(entry_id, id, parent, state, exit, reason)
  local store, length = struct.unpack('>Hc0', parent), 17 + #parent + #id + #reason + #exit
  local block = filling[store]
  if block and block.size + length + 12 > BLOCK_BYTES then
    close_block(store, block)
    block = nil
  end
  if not block then
    block = { ids = {}, pieces = { '' }, size = 4 }
    filling[store] = block
    before_flush = close_blocks
  end
  local pieces = block.pieces
  local n = #pieces
  pieces[n + 1], pieces[n + 2] = struct.pack('>I4c8BH', length, now8, REPORTED[state], #parent), parent
  pieces[n + 3], pieces[n + 4] = struct.pack('>H', #id), id
  pieces[n + 5], pieces[n + 6], pieces[n + 7] = struct.pack('>I4', #reason), reason, exit
  block.ids[#block.ids + 1] = entry_id
  block.size = block.size + length + 12
end
