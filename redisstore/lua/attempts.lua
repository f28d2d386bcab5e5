-- Reads a page of a job's ledger.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings; 3: id; 4: how many entries to pass over; 5: how many to
--          return at most; 6: how many bytes at most
-- RETURNS  how many entries the ledger has, or 0 if there is no such job; then the packed
--          entries, of which record.go knows the layout
-- uses: ledger

local job = get(ARGV[3])
if not job then
  return { 0 }
end
local from, limit, room = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local reply, used = { job.entries }, 0
for i = from, math.min(from + limit, job.entries) - 1 do
  local entry
  if i < job.entries - 1 then
    entry = redis.call('LINDEX', LEDGER .. job.id, i) or ''
  else
    local outcome, started, finished, worker, place, exit = unpack_entry(job.last)
    if place == 2 then
      exit = redis.call('GET', EXIT .. job.id) or ''
    end
    entry = pack_entry(outcome, started, finished, worker, place, exit)
  end
  used = used + #entry
  if used > room and i > from then
    break
  end
  reply[#reply + 1] = entry
end
return reply
