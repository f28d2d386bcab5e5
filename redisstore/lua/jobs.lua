-- Reads the records of jobs.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings; 3: how many bytes of records at most; then the ids
-- RETURNS  how many of the ids were looked at: not all, if the bytes ended the reply; then
--          the records, without those that do not exist
-- uses: reply

local ids = {}
for i = 4, #ARGV do
  ids[#ids + 1] = ARGV[i]
end
load(ids)
local found, used, looked = {}, 0, 0
for _, id in ipairs(ids) do
  local job = jobs[id]
  if job then
    used = used + size_of(job)
    if used > tonumber(ARGV[3]) and #found > 0 then
      break
    end
    found[#found + 1] = job
  end
  looked = looked + 1
end
local reply = { looked }
put_records(reply, found)
return reply
