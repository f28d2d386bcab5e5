-- Fires one slot of a schedule: inserts its job and sets the slot after it.
--
-- KEYS     1: the prefix
-- ARGV     1: now; 2: settings; 3: the key; 4: the slot that is expected (8 bytes); 5: the
--          slot after it (8 bytes); 6: id of the job; then the strings of lib/shape.lua, shape first
-- RETURNS  1 if the job was inserted, else 0
-- uses: insert_one, schedule

local schedule = get_schedule(ARGV[3])
if not schedule or schedule.next ~= ARGV[4] then
  return 0
end
local id = ARGV[6]
local fire = not get(id)
if schedule.skip == 1 and schedule.last ~= '' then
  local last = get(schedule.last)
  fire = fire and (not last or terminal(last.state))
end
if fire then
  put_job(id, read_shape(7), ARGV[7 + SHAPE_STRINGS], ARGV[8 + SHAPE_STRINGS])
  schedule.last = id
end
schedule.next = ARGV[5]
put_schedule(schedule)
finish_call()
return fire and 1 or 0
