-- Gives failed jobs a fresh budget.
--
-- KEYS     1: the prefix
-- ARGV     1: now; 2: settings; then the ids
-- RETURNS  for each id: the state of the job after it; or −1: no such job, −10 − s: the job
--          is in the state s, which is not failed
-- uses: finish

local function retry(job)
  release(job)
  detach(job)
  job.state, job.seq, job.runAt = WAITING, next_seq(), now8
  job.attempts, job.stalled, job.reason, job.finishedAt, job.processedAt = 0, 0, '', false, false
  attach(job)
  retake_dedupe(job)
  wake(job.queue)
end

local ids = {}
for i = 3, #ARGV do
  ids[#ids + 1] = ARGV[i]
end
load(ids)
reserve_seqs(#ids)
local reply = {}
for i, id in ipairs(ids) do
  local job = jobs[id]
  if not job then
    reply[i] = -1
  elseif job.state ~= FAILED then
    reply[i] = -10 - job.state
  else
    retry(job)
    reply[i] = WAITING
  end
end
finish_call()
return reply
