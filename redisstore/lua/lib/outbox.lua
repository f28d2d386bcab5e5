-- The outbox of children's outcomes.
-- uses: record

-- report_end puts the end of a flow's child into the outbox. exit and reason are empty
-- if there is none.
local function report_end(job, state, exit, reason)
end
