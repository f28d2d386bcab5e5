-- Removes jobs that are neither active nor parked.
--
-- KEYS     1: the prefix
-- ARGV     1: now; 2: settings; then the ids
-- RETURNS  for each id: 1 if a job was removed, else 0
-- uses: finish

redis.call('UNLINK', PREFIX)

local ids = {}
for i = 3, #ARGV do
  ids[#ids + 1] = ARGV[i]
end
load(ids)
local reply = {}
for i, id in ipairs(ids) do
  local job = jobs[id]
  if not job or job.state == ACTIVE_STATE or job.state == PARKED_STATE then
    reply[i] = 0
  else
    if job.parent ~= '' and not terminal(job.state) then
      report_end(next_seq(), job.id, job.parent, CANCELLED, '', '')
    end
    delete(job)
    reply[i] = 1
  end
end
finish_call()
return reply
