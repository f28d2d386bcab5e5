-- Inserting jobs.
-- uses: tally, lane, shape

local function read_shape(at)
  local shape = {}
  shape.name, shape.queue, shape.score, shape.core, shape.runAt = unpack(ARGV, at, at + SHAPE_STRINGS - 1)
  shape.times = shape.runAt .. now8
  return shape
end

-- new_head returns the head of a new job.
local function new_head(shape, seq, tail)
  return shape.core .. seq .. shape.times .. tail
end

-- What the jobs of one queue and name enter, until the bulks are flushed.
local entrances = {}

local function entrance(queue, name)
  local names = entrances[queue]
  if not names then
    names = {}
    entrances[queue] = names
  end
  local way = names[name]
  if not way then
    way = { lane = bulk('ZADD', lane_key(queue, name)), list = bulk('ZADD', LIST), sums = counts_of(queue) }
    way.queueList = setting('q') and bulk('ZADD', LISTQ .. queue)
    way.nameList = setting('n') and bulk('ZADD', LISTN .. name)
    names[name] = way
    wake(queue)
  end
  return way
end

-- enter_job puts a new job into its orders, and counts it. member is its seq and id.
local function enter_job(id, member, shape)
  local way = shape.way or entrance(shape.queue, shape.name)
  local sums = way.sums
  shape.way = way
  sums[0] = sums[0] + 1
  if string.byte(shape.core) == WAITING then
    if #way.lane == 0 then
      local lanes = bulk('SADD', LANES .. shape.queue)
      lanes[#lanes + 1] = shape.name
    end
    append_pair(way.lane, shape.score, member)
    sums[WAITING] = sums[WAITING] + 1
  else
    local due = score_text(number(shape.runAt))
    append_pair(bulk('ZADD', DELAYED .. shape.queue), due, member)
    append_pair(bulk('ZADD', RUNAT .. shape.queue), due, id)
    sums[DELAYED_STATE] = sums[DELAYED_STATE] + 1
  end
  append_pair(way.list, now_text, id)
  if way.queueList then append_pair(way.queueList, now_text, id) end
  if way.nameList then append_pair(way.nameList, now_text, id) end
end

-- flush_entrances makes what was collected, for those who take out what was entered.
local function flush_entrances(shapes)
  flush_bulks()
  entrances = {}
  for _, shape in pairs(shapes) do
    shape.way = nil
  end
end
