-- Reads a page of the due schedules: by their next slots, then keys.
--
-- KEYS     1: the prefix
-- ARGV     1: now; 2: settings; 3: the most schedules; 4: how many bytes to return, at
--          which the page ends; 5 and 6: next slot (8 bytes) and key behind which the page
--          begins, or empty
-- RETURNS  1 if there are more, else 0; then each schedule: key, schedule
-- uses: schedule_page, sources

local limit = tonumber(ARGV[3])
local from = 0
if ARGV[5] ~= '' then
  local rank, present = lower_bound(DUE, string.format('%.17g', number(ARGV[5])), ARGV[6])
  from = present and rank + 1 or rank
end
local found = redis.call('ZRANGE', DUE, from, from + limit, 'WITHSCORES')
local keys = {}
for i = 1, #found, 2 do
  if tonumber(found[i + 1]) > now then
    break
  end
  keys[#keys + 1] = found[i]
end
local more = #keys > limit
keys[limit + 1] = nil
return schedule_page(keys, tonumber(ARGV[4]), more)
