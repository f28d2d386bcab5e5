-- Dedup keys. An entry is 8 bytes, the end of its window or zeros, a byte that tells
-- whether there is a window, and the id of its job.
-- uses: record

local function dedupe_key(name, key)
  return DEDUPE .. scoped(name, key)
end

-- read_dedupe returns the entry of a key as a table, or nil.
local function read_dedupe(name, key)
  local at = dedupe_key(name, key)
  local value = value_changes[at]
  if value == nil then
    value = redis.call('GET', at)
  end
  if not value then
    return nil
  end
  local ends, window = string.sub(value, 1, 8), string.byte(value, 9) == 1
  return { name = name, key = key, ends = ends, window = window, id = string.sub(value, 10) }
end

local function write_dedupe(entry)
  write(dedupe_key(entry.name, entry.key), entry.ends .. (entry.window and '\1' or '\0') .. entry.id)
  if entry.window then
    zadd(WINDOWS, number(entry.ends), scoped(entry.name, entry.key))
  else
    zrem(WINDOWS, scoped(entry.name, entry.key))
  end
end

local function drop_dedupe(entry)
  erase(dedupe_key(entry.name, entry.key))
  zrem(WINDOWS, scoped(entry.name, entry.key))
end

-- dedupe_job returns the job that owns an entry, or false if that is gone.
local function dedupe_job(entry)
  local job = get(entry.id)
  return job and job.name == entry.name and job.dedupe == entry.key and job
end

-- holds reports whether an entry holds its key.
local function holds(entry)
  if entry.window then
    return now < number(entry.ends)
  end
  local job = dedupe_job(entry)
  return job and not terminal(job.state)
end

-- free_dedupe frees the job's key without ttl, if it owns that; a window stays.
local function free_dedupe(job)
  if job.dedupe == '' or job.ttl then
    return
  end
  local entry = read_dedupe(job.name, job.dedupe)
  if entry and not entry.window and entry.id == job.id then
    drop_dedupe(entry)
  end
end

-- retake_dedupe gives a job that runs again its key without ttl, if that is free.
local function retake_dedupe(job)
  if job.dedupe == '' or job.ttl then
    return
  end
  local entry = read_dedupe(job.name, job.dedupe)
  if entry and holds(entry) then
    change_static(job, '', job.keep, spec_of(job), sizes_of(job))
    return
  end
  write_dedupe({ name = job.name, key = job.dedupe, ends = ZERO8, window = false, id = job.id })
end
