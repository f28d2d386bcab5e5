-- Counts the runs that acks end, as driver.StatOf and driver.AckKind.Outcome say. The
-- hash of a minute has three fields per outcome and queue: the outcome's digit, a letter
-- (c: how many runs, r: the sum of their run times, w: of their waits), the queue.
-- uses: base

-- All of it is one local name, since Lua allows 200 in a script.
local stats = { sums = {}, longest = 30 * 24 * 60 * 60 * 1000 } -- sums: outcome's digit .. queue → { count, run time, wait }

-- outcome returns how an accepted ack of that kind ends a run, or nothing.
function stats.outcome(kind, after)
  if kind == 1 then
    return BY_COMPLETE
  elseif kind == 2 then
    return BY_FAIL
  elseif after == CANCELLED then
    return BY_CANCEL
  elseif kind == 4 then
    return BY_RETRY
  elseif kind == 7 then
    return BY_FAN_OUT
  end
end

function stats.time(from, to)
  return math.min(math.max(to - from, 0), stats.longest)
end

-- add counts a run of a job that was runnable from one time on, and claimed at another.
function stats.add(outcome, queue, runnable, claimed)
  local key = outcome .. queue
  local sums = stats.sums[key]
  if not sums then
    sums = { 0, 0, 0 }
    stats.sums[key] = sums
  end
  sums[1] = sums[1] + 1
  sums[2] = sums[2] + stats.time(claimed, now)
  sums[3] = sums[3] + stats.time(runnable, claimed)
end

-- counted calls ack, which answers with the state after it, or a refusal below 1, and
-- counts the run that it ended.
function stats.counted(job, kind, ack, at)
  if not job or not setting('t') then
    return ack(at)
  end
  local runnable, claimed = number(job.runAt), number(job.processedAt or now8)
  local after = ack(at)
  local outcome = after > 0 and stats.outcome(kind, after)
  if outcome then
    stats.add(outcome, job.queue, runnable, claimed)
  end
  return after
end

-- write writes what was counted.
function stats.write()
  local minute = string.format('%.0f', math.floor(now / 60000))
  local key = STATS .. minute
  for place, sums in pairs(stats.sums) do
    local outcome, queue = string.sub(place, 1, 1), string.sub(place, 2)
    if redis.call('HINCRBY', key, outcome .. 'c' .. queue, sums[1]) == sums[1] then
      redis.call('ZADD', MINUTES, minute, minute)
    end
    redis.call('HINCRBY', key, outcome .. 'r' .. queue, string.format('%.0f', sums[2]))
    redis.call('HINCRBY', key, outcome .. 'w' .. queue, string.format('%.0f', sums[3]))
  end
end
