-- Entries of the run ledger.
-- uses: base

-- An entry: outcome, whether it has a start, start and end (8 bytes), worker, where the
-- exit is (0: there is none, 1: here, 2: in the key EXIT), exit.
local ENTRY_FORMAT = '>BBc8c8Hc0BI4c0'

-- Longer exits than this lie in a key of their own.
local INLINE_EXIT = 128

local function pack_entry(outcome, started, finished, worker, place, exit)
  return struct.pack(ENTRY_FORMAT, outcome, started and 1 or 0, started or ZERO8, finished,
    #worker, worker, place, #exit, exit)
end
