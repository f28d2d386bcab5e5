-- Schedules.
-- uses: changes

-- A schedule is nextRunAt (8 bytes), whether a slot is skipped while the job of the one
-- before is not finished (1), the id of the job that the latest tick inserted, and the
-- cadence (behind 2 bytes of length each), and the rest, which the server never reads.
-- schedule_record.go reads the same layout.
local SCHEDULE_FORMAT = '>c8BHc0Hc0'

-- get_schedule returns a schedule as a table, or nil: key, next, skip, last, cadence,
-- rest. A damaged one is at no slot and of no cadence, so that it can only be replaced or
-- removed.
local function get_schedule(key)
  local packed = redis.call('GET', SCHEDULE .. key)
  if not packed then
    return nil
  end
  local whole, next, skip, last, cadence, at = pcall(struct.unpack, SCHEDULE_FORMAT, packed)
  if not whole then
    return { key = key, next = '', skip = 0, last = '', cadence = '', rest = '' }
  end
  local schedule = { key = key, next = next, skip = skip, last = last, cadence = cadence }
  schedule.rest = string.sub(packed, at)
  return schedule
end

local function pack_schedule(schedule)
  return struct.pack(SCHEDULE_FORMAT, schedule.next, schedule.skip, #schedule.last, schedule.last,
    #schedule.cadence, schedule.cadence) .. schedule.rest
end

-- put_schedule stores a schedule when the call ends.
local function put_schedule(schedule)
  write(SCHEDULE .. schedule.key, pack_schedule(schedule))
  zadd(SCHEDULES, 0, schedule.key)
  zadd(DUE, number(schedule.next), schedule.key)
end
