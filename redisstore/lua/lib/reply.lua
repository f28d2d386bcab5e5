-- Records in replies: five strings each: id, head, spec, exit, manifest. An absent one
-- is empty, as is the spec where it lies in the head.
-- uses: ledger, flow

-- put_records appends the records of some jobs, from position at + 1 on, and returns
-- the last position.
local function put_records(reply, at, list)
  local keys, places = {}, {}
  for _, job in ipairs(list) do
    if job.specTo < job.specFrom then
      keys[#keys + 1] = SPEC .. job.id
      places[#places + 1] = at + 3
    end
    reply[at + 1] = job.id
    reply[at + 2] = head_of(job)
    reply[at + 3] = ''
    reply[at + 4] = exit_of(job)
    reply[at + 5] = job.flow and manifest_of(job) or ''
    at = at + 5
  end
  if #keys > 0 then
    for i, spec in ipairs(redis.call('MGET', unpack(keys))) do
      reply[places[i]] = spec or ''
    end
  end
  return at
end

-- size_of returns about how many bytes a job's record adds to a page.
local function size_of(job)
  local size = #job.id + sizes_of(job)
  if job.last ~= '' then
    local _, _, _, _, place = unpack_entry(job.last)
    if place == 2 then
      size = size + redis.call('STRLEN', EXIT .. job.id)
    end
  end
  return size
end
