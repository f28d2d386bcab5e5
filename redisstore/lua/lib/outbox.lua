-- The outbox of children's outcomes.
-- uses: place

-- An entry is the time of the end (8 bytes), the status that the child reports (1), its
-- envelope and id (behind 2 bytes of length each), the reason (behind 4), and the exit.
-- The envelope begins with the key of the parent's store, behind 2 bytes of length.
local OUTBOX_FORMAT = '>c8BHc0Hc0I4c0'

-- The statuses that a child reports, by its terminal state.
local REPORTED = { [COMPLETED] = 2, [FAILED] = 3, [CANCELLED] = 4 }

-- report_end puts the end of a flow's child into the outbox. exit and reason are empty
-- if there is none. Entries are ordered by their ids, which are drawn with the seqs.
local function report_end(job, state, exit, reason)
  local id = string.format('%016.0f', number(next_seq()))
  local store = struct.unpack('>Hc0', job.parent)
  put(OUTBOX, id, struct.pack(OUTBOX_FORMAT, now8, REPORTED[state], #job.parent, job.parent,
    #job.id, job.id, #reason, reason) .. exit)
  sadd(BOXES, store)
  zadd(BOX .. store, 0, id)
  zadd(READY .. store, 0, id)
end
