-- The outbox of children's outcomes.
-- uses: block

-- An entry is the time of the end (8 bytes), the status that the child reports (1), its
-- envelope and id (behind 2 bytes of length each), the reason (behind 4), and the exit.
-- The envelope begins with the key of the parent's store, behind 2 bytes of length.
local OUTBOX_FORMAT = '>I4c8BHc0Hc0I4c0' -- behind the length of all that

-- The statuses that a child reports, by its terminal state.
local REPORTED = { [COMPLETED] = 2, [FAILED] = 3, [CANCELLED] = 4 }

-- A block ends behind so many bytes, so that it can be split at no great cost.
local BLOCK_BYTES = 65536

local filling = {} -- store → the ids and entries of its block, and how many bytes these are

local function close_block(store, block)
  local n = #block.ids
  local key = block.ids[n]
  append_pair(bulk('HSET', OUTBOX), key, pack_block(n, table.concat(block.ids), table.concat(block.entries)))
  append_pair(bulk('ZADD', BOX .. store), 0, key)
  append_pair(bulk('ZADD', READY .. store), 0, key)
  local stores = bulk('SADD', BOXES)
  stores[#stores + 1] = store
  filling[store] = nil
  return n
end

-- close_blocks collects the blocks of all that was reported.
local function close_blocks()
  local n = 0
  for store, block in pairs(filling) do
    n = n + close_block(store, block)
  end
  if n > 0 then
    redis.call('HINCRBY', META, 'reports', n)
  end
end

-- report_end puts the end of a flow's child into the outbox, under an id (8 bytes) that was
-- drawn with the seqs: entries are ordered by these. parent is the child's packed
-- envelope; exit and reason are empty if there is none.
local function report_end(entry_id, id, parent, state, exit, reason)
  local store = struct.unpack('>Hc0', parent)
  local entry = struct.pack(OUTBOX_FORMAT, 17 + #parent + #id + #reason + #exit, now8, REPORTED[state],
    #parent, parent, #id, id, #reason, reason) .. exit
  local block = filling[store]
  if block and block.size + #entry > BLOCK_BYTES then
    redis.call('HINCRBY', META, 'reports', close_block(store, block))
    block = nil
  end
  if not block then
    block = { ids = {}, entries = {}, size = 0 }
    filling[store] = block
    before_flush = close_blocks
  end
  local n = #block.ids + 1
  block.ids[n], block.entries[n], block.size = entry_id, entry, block.size + #entry
end
