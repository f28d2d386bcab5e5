-- Merging lanes: the members of several, best first.
-- uses: lane

-- A source hands out the members of one lane. Its block holds members and scores in turn.
local function refill(source, size)
  source.block = redis.call('ZRANGE', source.key, source.from, source.from + size - 1, 'WITHSCORES')
  source.from, source.at = source.from + size, 1
  return #source.block > 0
end

-- look reads the rank of a source's next member.
local function look(source)
  source.member = source.block[source.at]
  source.score, source.seq = tonumber(source.block[source.at + 1]), number(source.member)
end

local function better(a, b)
  if a.score ~= b.score then
    return a.score < b.score
  end
  return a.seq < b.seq
end

-- The sources that have a member left are a heap.
local heap = {}

local function sink(i)
  while true do
    local best = i
    for child = 2 * i, 2 * i + 1 do
      if heap[child] and better(heap[child], heap[best]) then
        best = child
      end
    end
    if best == i then
      return
    end
    heap[i], heap[best] = heap[best], heap[i]
    i = best
  end
end

-- open_sources puts the lanes of some names that have waiting jobs into the heap, and
-- returns how many members they read at a time.
local function open_sources(queue, names, wanted)
  local seen, block = {}, math.max(4, math.ceil(wanted / #names))
  for _, name in ipairs(names) do
    if not seen[name] then
      seen[name] = true
      local source = { key = lane_key(queue, name), name = name, from = 0 }
      if refill(source, block) then
        look(source)
        heap[#heap + 1] = source
      end
    end
  end
  for i = math.floor(#heap / 2), 1, -1 do
    sink(i)
  end
  return block
end

-- step moves the best source to its next member.
local function step(block)
  local source = heap[1]
  source.at = source.at + 2
  if source.at > #source.block and not refill(source, block) then
    heap[1] = heap[#heap]
    heap[#heap] = nil
  else
    look(source)
  end
  if heap[1] then
    sink(1)
  end
end

-- next_members returns up to so many members, best first, and the sources they are from.
local function next_members(wanted, block)
  local members, from = {}, {}
  while #members < wanted and heap[1] do
    local source = heap[1]
    if #heap == 1 then -- what is left of the block is the best
      for at = source.at, #source.block, 2 do
        if #members == wanted then
          break
        end
        members[#members + 1], from[#from + 1] = source.block[at], source
        source.at = at
      end
    else
      members[#members + 1], from[#from + 1] = source.member, source
    end
    step(block)
  end
  return members, from
end
