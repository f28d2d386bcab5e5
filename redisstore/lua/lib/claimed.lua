-- The jobs that were claimed under a token, for a claim that is resumed. Their ids, each
-- behind 2 bytes of length, stay until none of them is held under it any more.
-- uses: tally

-- hold notes the jobs from a place in a list on, which a token holds from now on.
local function hold(token, ids, from)
  local key, packed, n = CLAIMED .. token, {}, #ids - from + 1
  for i = from, #ids do
    local id = ids[i]
    append_pair(packed, struct.pack('>H', #id), id)
  end
  local text = table.concat(packed)
  if redis.call('HINCRBY', key, 'held', n) ~= n then
    text = (redis.call('HGET', key, 'ids') or '') .. text
  end
  redis.call('HSET', key, 'ids', text)
end

-- held_by returns the ids of jobs that a token may hold. One that came back and was claimed
-- under it again was noted twice.
local function held_by(token)
  local packed, ids, seen, at = redis.call('HGET', CLAIMED .. token, 'ids') or '', {}, {}, 1
  while at <= #packed do
    local id
    id, at = struct.unpack('>Hc0', packed, at)
    if not seen[id] then
      seen[id] = true
      ids[#ids + 1] = id
    end
  end
  return ids
end
