-- Sets the next slot of a schedule, if that is the expected one.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings; 3: the key; 4: the slot that is expected (8 bytes); 5: the
--          slot to set (8 bytes)
-- RETURNS  1 if it was set, else 0
-- uses: schedule

local schedule = get_schedule(ARGV[3])
if not schedule or schedule.next ~= ARGV[4] then
  return 0
end
schedule.next = ARGV[5]
put_schedule(schedule)
flush()
return 1
