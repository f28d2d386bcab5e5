-- Takes jobs away from workers that let their locks run out.
--
-- KEYS     1: the prefix
-- ARGV     1: now; 2: settings; 3: how often a job may stall; 4: how many jobs to recover
--          at most
-- RETURNS  "1" if there may be more, else "0"; how many jobs were taken away; then for each
--          of them that was not cancelled: id, "1" if it failed, else "0"
-- uses: finish

local most, limit = tonumber(ARGV[3]), tonumber(ARGV[4])
redis.call('UNLINK', PREFIX)
local ids = redis.call('ZRANGEBYSCORE', ACTIVE, '-inf', now, 'LIMIT', 0, limit + 1)
local reply = { #ids > limit and '1' or '0', 0 }
ids[limit + 1] = nil
load(ids)
allow_trims(#ids)
reserve_seqs(#ids)
for _, id in ipairs(ids) do
  local job = jobs[id]
  if not job or job.state ~= ACTIVE_STATE then
    zrem(ACTIVE, id)
  elseif number(job.lockExpiresAt) > now then
    zadd(ACTIVE, number(job.lockExpiresAt), id)
  else
    reply[2] = reply[2] + 1
    if job.cancel then
      cancel_job(job)
    else
      job.stalled = job.stalled + 1
      local failed = job.stalled > most
      if failed then
        finish(job, FAILED, BY_STALL, '', 'job stalled more than the allowed number of times')
      else
        log(job, BY_STALL, '')
        send_back(job, WAITING, false, false)
      end
      reply[#reply + 1] = id
      reply[#reply + 1] = failed and '1' or '0'
    end
  end
end
trim_all()
finish_call()
return reply
