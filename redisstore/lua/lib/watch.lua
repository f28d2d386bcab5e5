-- Telling those who watch a job's end, or the cancels of active jobs.
-- uses: changes

local watchers -- whether anybody watches an end

-- announce_end tells the watchers of a job how it ended; state 0: it was removed.
local function announce_end(job, state, exit, reason)
  if watchers == nil then
    watchers = redis.call('EXISTS', WATCHED) == 1
  end
  if not watchers then
    return
  end
  local list = redis.call('HGET', WATCHED, job.id)
  if not list then
    return
  end
  redis.call('HDEL', WATCHED, job.id)
  local message = struct.pack('>Bi4Hc0Hc0', state, job.attempts, #job.id, job.id, #reason, reason) .. exit
  for from = 1, #list, 16 do
    publish(END .. string.sub(list, from, from + 15), message)
  end
end

-- announce_cancel tells that an active job's cancel is requested.
local function announce_cancel(job)
  publish(CANCEL, job.id)
end
