-- Extends locks.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings; 3: lockExpiresAt (8 bytes); then for each lock: id, token
-- RETURNS  for each lock: 0: it is held, 1: it is held and a cancel is requested, 2: it is lost
-- uses: place

redis.call('UNLINK', PREFIX)

local expires = number(ARGV[3])
local ids = {}
for at = 4, #ARGV, 2 do
  ids[#ids + 1] = ARGV[at]
end
load(ids)
local reply = {}
for i, id in ipairs(ids) do
  local job = jobs[id]
  if job and job.state == ACTIVE_STATE and job.token == ARGV[2 * i + 3] then
    job.lockExpiresAt = ARGV[3]
    zadd(ACTIVE, expires, id)
    save(job)
    reply[i] = job.cancel and 1 or 0
  else
    reply[i] = 2
  end
end
finish_call()
return reply
