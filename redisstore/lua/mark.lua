-- Notes up to which time of enqueue the list indexes that are on are complete.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings; 3: the time
-- RETURNS  0
-- uses: base

for _, letter in ipairs({ 'n', 'q' }) do
  if setting(letter) then
    redis.call('HSET', META, 'index:' .. letter, ARGV[3])
  end
end
return 0
