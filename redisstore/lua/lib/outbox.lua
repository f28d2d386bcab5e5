-- The outbox of children's outcomes.
-- uses: tally

-- An entry is the time of the end (8 bytes), the status that the child reports (1), its
-- envelope and id (behind 2 bytes of length each), the reason (behind 4), and the exit.
-- The envelope begins with the key of the parent's store, behind 2 bytes of length.
local OUTBOX_FORMAT = '>c8BHc0Hc0I4c0'

-- The statuses that a child reports, by its terminal state.
local REPORTED = { [COMPLETED] = 2, [FAILED] = 3, [CANCELLED] = 4 }

local boxes = {} -- keys of stores that were entered among the boxes

-- report_end puts the end of a flow's child into the outbox. parent is its packed
-- envelope; exit and reason are empty if there is none. Entries are ordered by their ids,
-- which are drawn with the seqs.
local function report_end(id, parent, state, exit, reason)
  local entry_id = string.format('%016.0f', number(next_seq()))
  local store = struct.unpack('>Hc0', parent)
  append_pair(bulk('HSET', OUTBOX), entry_id, struct.pack(OUTBOX_FORMAT, now8, REPORTED[state], #parent, parent,
    #id, id, #reason, reason) .. exit)
  append_pair(bulk('ZADD', BOX .. store), 0, entry_id)
  append_pair(bulk('ZADD', READY .. store), 0, entry_id)
  if not boxes[store] then
    boxes[store] = true
    local all = bulk('SADD', BOXES)
    all[#all + 1] = store
  end
end
