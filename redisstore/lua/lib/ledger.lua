-- The run ledger. The latest entry lies in the head, those before it in a list.
-- uses: record, entry

local function unpack_entry(entry)
  local outcome, has_start, started, finished, worker, place, exit = struct.unpack(ENTRY_FORMAT, entry)
  return outcome, has_start == 1 and started, finished, worker, place, exit
end

-- log appends an entry to the ledger. An active job is charged with its run.
local function log(job, outcome, exit)
  if job.last ~= '' then
    local former, started, finished, worker, place, former_exit = unpack_entry(job.last)
    local entry = job.last
    if place == 2 then
      former_exit = value_changes[EXIT .. job.id] or redis.call('GET', EXIT .. job.id) or ''
      entry = pack_entry(former, started, finished, worker, 1, former_exit)
      erase(EXIT .. job.id)
    end
    redis.call('RPUSH', LEDGER .. job.id, entry)
  end
  local place = 0
  if exit ~= '' then
    place = 1
    if #exit > INLINE_EXIT then
      place = 2
      write(EXIT .. job.id, exit)
      exit = ''
    end
  end
  local active = job.state == ACTIVE_STATE
  job.entries = job.entries + 1
  job.last = pack_entry(outcome, active and job.processedAt, now8, active and job.worker or '', place, exit)
end

-- exit_of returns the exit of a terminal job's record, or an empty string.
local function exit_of(job)
  if job.last == '' or not terminal(job.state) then
    return ''
  end
  local outcome, _, _, _, place, exit = unpack_entry(job.last)
  if outcome ~= BY_COMPLETE and outcome ~= BY_FAIL then
    return ''
  end
  if place == 2 then
    return value_changes[EXIT .. job.id] or redis.call('GET', EXIT .. job.id) or ''
  end
  return exit
end
