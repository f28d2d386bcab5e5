-- Stages a page of children under an active job's run.
--
-- KEYS     1: the prefix
-- ARGV     1: empty; 2: settings; 3: id of the job; 4: token of the run; then for each
--          child: its key, its row, its request
-- RETURNS  1; 0 if the job is not active under the token; −1 if there is none
-- uses: flow

local job = get(ARGV[3])
if not job then
  return -1
end
if job.state ~= ACTIVE_STATE or job.token ~= ARGV[4] then
  return 0
end
local rows, requests, members = {}, {}, {}
for i = 5, #ARGV, 3 do
  local at = #rows
  rows[at + 1], rows[at + 2] = ARGV[i], ARGV[i + 1]
  requests[at + 1], requests[at + 2] = ARGV[i], ARGV[i + 2]
  members[at + 1], members[at + 2] = 0, ARGV[i]
end
if #rows == 0 then
  return 1
end
local number_text = staged_number(job)
if number_text == '' then
  number_text = string.format('%.0f', redis.call('HINCRBY', META, 'flow', 1))
  job.staged = true
  write(STAGED .. job.id, number_text)
  save(job)
end
each('HSET', ROWS .. number_text, rows)
each('HSET', REQUESTS .. number_text, requests)
each('ZADD', CHILDREN .. number_text, members)
each('ZADD', FRESH .. number_text, members)
finish_call()
return 1
