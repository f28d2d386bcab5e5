-- Inserts or replaces a schedule. With the same cadence it keeps its next slot.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings; 3: the key; 4: the schedule, packed
-- RETURNS  the schedule as it is stored now, packed
-- uses: schedule

local schedule, at = { key = ARGV[3] }
schedule.next, schedule.skip, schedule.last, schedule.cadence, at = struct.unpack(SCHEDULE_FORMAT, ARGV[4])
schedule.rest = string.sub(ARGV[4], at)
local former = get_schedule(schedule.key)
if former then
  schedule.last = former.last
  if former.cadence == schedule.cadence then
    schedule.next = former.next
  end
end
put_schedule(schedule)
flush()
return pack_schedule(schedule)
