-- Settles a batch of runs.
--
-- KEYS     1: the prefix
-- ARGV     1: now; 2: settings; 3: how many items need a new place in the order at most;
--          then for each ack six strings: id, token, kind (a number), exit; for a retry
--          or snooze: the state to go to, runAt (8 bytes); for a fan-out: the number of
--          children, "1" to fail fast; else two empty ones
-- RETURNS  for each ack: the state of the job after it; or −1: no such job, −2: the lock is
--          lost, −3 − n: n children are staged, not as many as the ack says
-- uses: finish, fan_out, stats

-- Acks free memory in the end, so they pass when there is none left: a write that needs
-- no memory opens the door for the others.
redis.call('UNLINK', PREFIX)

local COMPLETE, FAIL, CANCEL_ACK, RETRY, SNOOZE, RELEASE, FAN = 1, 2, 3, 4, 5, 6, 7
local STRIDE = 6

local function ack(at)
  local job = jobs[ARGV[at]]
  if not job then
    return -1
  end
  if job.state ~= ACTIVE_STATE or job.token ~= ARGV[at + 1] then
    return -2
  end
  local kind, exit = tonumber(ARGV[at + 2]), ARGV[at + 3]
  if kind == COMPLETE or kind == FAIL or kind == CANCEL_ACK or kind == RETRY then
    job.attempts = job.attempts + 1
  end
  if kind == COMPLETE then
    finish(job, COMPLETED, BY_COMPLETE, exit, '')
    return COMPLETED
  elseif kind == FAIL then
    finish(job, FAILED, BY_FAIL, exit, '')
    return FAILED
  elseif kind == FAN then
    local state, staged = fan_out(job, ARGV[at + 5] == '1', tonumber(ARGV[at + 4]))
    return state == 0 and -3 - staged or state
  elseif job.cancel or kind == CANCEL_ACK then
    cancel_job(job)
    return CANCELLED
  elseif kind == RELEASE then
    send_back(job, WAITING, false, false)
    return WAITING
  end
  if kind == RETRY then
    log(job, BY_RETRY, exit)
  end
  local state = tonumber(ARGV[at + 4])
  send_back(job, state, ARGV[at + 5], true)
  return state
end

local ids = {}
for at = 4, #ARGV, STRIDE do
  ids[#ids + 1] = ARGV[at]
end
load(ids)
allow_trims(#ids)
reserve_seqs(tonumber(ARGV[3]))
local reply = {}
for at = 4, #ARGV, STRIDE do
  reply[#reply + 1] = stats.counted(jobs[ARGV[at]], tonumber(ARGV[at + 2]), ack, at)
end
trim_all()
stats.write()
finish_call()
return reply
