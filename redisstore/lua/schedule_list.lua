-- Reads a page of schedules, in byte order of their keys.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings; 3: where the page begins, as ZRANGEBYLEX wants it; 4: the
--          most schedules; 5: how many bytes to return, at which the page ends
-- RETURNS  1 if there are more, else 0; then each schedule: key, schedule
-- uses: schedule_page

local limit = tonumber(ARGV[4])
local keys = redis.call('ZRANGEBYLEX', SCHEDULES, ARGV[3], '+', 'LIMIT', 0, limit + 1)
local more = #keys > limit
keys[limit + 1] = nil
return schedule_page(keys, tonumber(ARGV[5]), more)
