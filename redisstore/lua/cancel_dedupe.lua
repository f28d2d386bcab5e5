-- Cancels the pending job that holds a dedup key.
--
-- KEYS     1: the prefix
-- ARGV     1: now; 2: settings; 3: job name; 4: key
-- RETURNS  1 if there was one, else 0
-- uses: finish

redis.call('UNLINK', PREFIX)

local entry = read_dedupe(ARGV[3], ARGV[4])
local job = entry and holds(entry) and dedupe_job(entry)
if not job or terminal(job.state) or job.state == ACTIVE_STATE then
  return 0
end
cancel(job)
trim_all()
finish_call()
return 1
