-- Walking sorted sets of ids by score, then by the bytes of the id, in both directions,
-- merged.
-- uses: record

local BLOCK = 100

-- id_before compares ids by their bytes. Lua's own order of strings is the locale's.
local function id_before(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then
      return x < y
    end
  end
  return #a < #b
end

-- lower_bound returns how many members lie before a place, and whether one lies there.
local function lower_bound(key, score, id)
  local own = redis.call('ZSCORE', key, id)
  if own and tonumber(own) == tonumber(score) then
    return redis.call('ZRANK', key, id), true
  end
  local low = redis.call('ZCOUNT', key, '-inf', '(' .. score)
  local high = redis.call('ZCOUNT', key, '-inf', score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if id_before(redis.call('ZRANGE', key, middle, middle)[1], id) then
      low = middle + 1
    else
      high = middle
    end
  end
  return low, false
end

-- read_block reads a source's next block, and tells whether it holds anything.
local function read_block(source)
  local first, last = source.rank, source.rank + BLOCK - 1
  if not source.ascending then
    first, last = math.max(source.rank - BLOCK + 1, 0), source.rank
  end
  source.block = last >= 0 and redis.call('ZRANGE', source.key, first, last, 'WITHSCORES') or {}
  source.at = source.ascending and 1 or #source.block - 1
  source.rank = source.ascending and last + 1 or first - 1
  return #source.block > 0
end

-- look reads the place of a source's next member.
local function look(source)
  source.id, source.text = source.block[source.at], source.block[source.at + 1]
  source.score = tonumber(source.text)
end

-- open_source starts to walk a sorted set behind a place (position nil: at its end). It
-- returns nil if nothing is there.
local function open_source(key, ascending, position)
  local source = { key = key, ascending = ascending, rank = 0 }
  if position then
    local rank, present = lower_bound(key, position.score, position.id)
    source.rank = ascending and (present and rank + 1 or rank) or rank - 1
  elseif not ascending then
    source.rank = redis.call('ZCARD', key) - 1
  end
  if source.rank < 0 or not read_block(source) then
    return nil
  end
  look(source)
  return source
end

-- advance goes to a source's next member, and tells whether there is one.
local function advance(source)
  source.at = source.at + (source.ascending and 2 or -2)
  if source.at < 1 or source.at > #source.block then
    if source.rank < 0 or not read_block(source) then
      return false
    end
  end
  look(source)
  return true
end

-- first_of returns the place in a list of sources of the one to go on with.
local function first_of(sources)
  local best = 1
  for i = 2, #sources do
    local a, b = sources[i], sources[best]
    local earlier = a.score < b.score or a.score == b.score and id_before(a.id, b.id)
    if earlier == a.ascending then
      best = i
    end
  end
  return best
end
