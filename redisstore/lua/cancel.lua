-- Cancels jobs, or requests it of their workers.
--
-- KEYS     1: the prefix
-- ARGV     1: now; 2: settings; then the ids
-- RETURNS  for each id: the state of the job after it; or −1: no such job, −10 − s: the job
--          is in the state s, which cannot be cancelled
-- uses: finish

redis.call('UNLINK', PREFIX)

local ids = {}
for i = 3, #ARGV do
  ids[#ids + 1] = ARGV[i]
end
load(ids)
allow_trims(#ids)
local reply = {}
for i, id in ipairs(ids) do
  local job = jobs[id]
  if not job then
    reply[i] = -1
  elseif terminal(job.state) then
    reply[i] = -10 - job.state
  else
    reply[i] = cancel(job)
  end
end
trim_all()
finish_call()
return reply
