-- Records in replies, of jobs as tables.
-- uses: ledger, flow, parts

-- put_records appends the records of some jobs.
local function put_records(reply, list)
  local apart, parts = {}, {}
  reply[#reply + 1] = #list
  for i, job in ipairs(list) do
    append_pair(reply, job.id, head_of(job))
    if spec_is_apart(job) then
      append_pair(apart, job.id, i - 1)
    end
    local exit = exit_of(job)
    if exit ~= '' then
      put_part(parts, i - 1, 'x', exit)
    end
    if job.flow then
      put_part(parts, i - 1, 'm', manifest_of(job))
    end
  end
  put_specs(reply, apart)
  for _, text in ipairs(parts) do
    reply[#reply + 1] = text
  end
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
