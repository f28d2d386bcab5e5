-- Flows, as far as operations on jobs touch them.
-- uses: place

-- abandon_flow makes the rows of a flow parent that is going invisible for good.
local function abandon_flow(job)
end

-- abandon_staged does so for rows that were staged under the lock that a job gives up,
-- and that have not landed.
local function abandon_staged(job)
end

-- owes_cascades reports whether a flow parent has children still to be cancelled.
local function owes_cascades(job)
  return false
end

-- settle_early cancels the pending rows of a parked parent, by a mark. The caller makes
-- the parent terminal.
local function settle_early(job)
end

-- fan_out ends the first phase of an active flow parent: an ack with fail_fast (a
-- boolean) and the number of children. It returns the state that the job is in then, or
-- 0 and how many children are staged if that is another number.
local function fan_out(job, fail_fast, children)
  return 0, 0
end

-- manifest_of returns the packed manifest of a flow parent, for flow.go to read.
local function manifest_of(job)
  return ''
end
