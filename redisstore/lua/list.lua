-- Returns a page of jobs.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings; 3: order: 0 enqueuedAt, 1 runAt of the delayed jobs of a
--          queue, 2 finishedAt of terminal jobs; 4: queue (empty: any); 5: name (empty:
--          any); 6: the digits of the states (empty: any); 7: "1" ascending; 8, 9: time and
--          id of the place to go on behind (empty: from the beginning); 10: how many jobs
--          to return at most; 11: how many bytes; 12: how many entries to look at; then
--          for each pair of metadata: key, value
-- RETURNS  "1" if more may be left, else "0"; time and id of the last entry looked at;
--          then the records
-- uses: reply, sources, state_sets

local order, queue, name, states = ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local ascending = ARGV[7] == '1'
local position = ARGV[9] ~= '' and { score = ARGV[8], id = ARGV[9] } or nil
local limit, room, most = tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12])
local FIRST_PAIR = 13

-- Members without a job are taken out, and that must not fail for want of memory.
redis.call('UNLINK', PREFIX)

-- has_metadata reports whether a job has all of the wanted metadata.
local function has_metadata(job)
  if #ARGV < FIRST_PAIR then
    return true
  end
  local _, meta_size = sizes_of(job)
  local packed = string.sub(spec_of(job), 1, meta_size)
  if meta_size > 0 and packed == '' then
    packed = redis.call('GETRANGE', SPEC .. job.id, 0, meta_size - 1)
  end
  local found, at, key, value = {}, 3, nil, nil
  while at <= #packed do
    key, value, at = struct.unpack('>Bc0I4c0', packed, at)
    found[key] = value
  end
  for i = FIRST_PAIR, #ARGV, 2 do
    if found[ARGV[i]] ~= ARGV[i + 1] then
      return false
    end
  end
  return true
end

-- keys returns the sorted sets to merge.
local function keys()
  if order == '1' then
    return { RUNAT .. queue }
  elseif order == '2' then
    local list = {}
    for i = 1, #states do
      list[#list + 1] = ENDED .. string.sub(states, i, i)
      list[#list + 1] = OWING .. string.sub(states, i, i)
    end
    return list
  elseif states ~= '' and gather_states(states, queue, most) then
    return { SCRATCH }
  elseif queue ~= '' and name ~= '' then
    local smaller = redis.call('ZCARD', LISTQ .. queue) < redis.call('ZCARD', LISTN .. name)
    return { smaller and LISTQ .. queue or LISTN .. name }
  elseif queue ~= '' then
    return { LISTQ .. queue }
  elseif name ~= '' then
    return { LISTN .. name }
  end
  return { LIST }
end

-- fits reports whether a job belongs into the order at all.
local function fits(job)
  if order == '1' then
    return job.state == DELAYED_STATE
  elseif order == '2' then
    return terminal(job.state)
  end
  return true
end

local sources = {}
for _, key in ipairs(keys()) do
  sources[#sources + 1] = open_source(key, ascending, position)
end

-- Entries are collected in pages, so that their heads are read in one go.
local found, used, looked, more = {}, 0, 0, false
local last_score, last_id = ARGV[8], ARGV[9]
while #sources > 0 and not more do
  local entries, ids = {}, {}
  local size = math.min(BLOCK, most - looked, #ARGV < FIRST_PAIR and limit - #found or BLOCK)
  while #entries < size and #sources > 0 do
    local i = first_of(sources)
    entries[#entries + 1] = { key = sources[i].key, score = sources[i].text, id = sources[i].id }
    ids[#ids + 1] = sources[i].id
    if not advance(sources[i]) then
      table.remove(sources, i)
    end
  end
  load(ids)
  for i, entry in ipairs(entries) do
    local job = jobs[entry.id]
    if not job or not fits(job) then
      zrem(entry.key, entry.id)
    elseif (queue == '' or job.queue == queue) and (name == '' or job.name == name)
      and (states == '' or string.find(states, job.state, 1, true)) and has_metadata(job) then
      local bytes_more = size_of(job)
      if #found == limit or used + bytes_more > room and #found > 0 then
        more = true
        break
      end
      used = used + bytes_more
      found[#found + 1] = job
    end
    looked = looked + 1
    last_score, last_id = entry.score, entry.id
  end
  more = more or #sources > 0 and (looked >= most or #found == limit)
end
redis.call('DEL', SCRATCH)
finish_call()
local reply = { more and '1' or '0', last_score, last_id }
put_records(reply, found)
return reply
