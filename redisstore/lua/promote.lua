-- Makes delayed jobs waiting before their time.
--
-- KEYS     1: the prefix
-- ARGV     1: now; 2: settings; then the ids
-- RETURNS  for each id: the state of the job after it; or −1: no such job, −10 − s: the job
--          is in the state s, which is not delayed
-- uses: finish

local ids = {}
for i = 3, #ARGV do
  ids[#ids + 1] = ARGV[i]
end
load(ids)
local reply = {}
for i, id in ipairs(ids) do
  local job = jobs[id]
  if not job then
    reply[i] = -1
  elseif job.state ~= DELAYED_STATE then
    reply[i] = -10 - job.state
  else
    send_back(job, WAITING, now8, false)
    reply[i] = WAITING
  end
end
finish_call()
return reply
