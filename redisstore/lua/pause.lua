-- Pauses a queue, or ends its pause.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings; 3: queue; 4: "1" to pause, "0" to resume
-- RETURNS  0
-- uses: changes

if ARGV[4] == '1' then
  redis.call('ZADD', PAUSED, 0, ARGV[3])
elseif redis.call('ZREM', PAUSED, ARGV[3]) == 1 then
  wake(ARGV[3])
  flush()
end
return 0
