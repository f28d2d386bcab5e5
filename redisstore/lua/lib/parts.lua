-- Records in replies: how many there are; id and head of each; then, of those that have
-- it, three strings for each further part: the place of the record, from 0 on; which part
-- it is (s: the spec that lies apart, x: the exit, m: the manifest); the part. record.go
-- reads them.
-- uses: tally

-- put_part appends one part.
local function put_part(reply, place, part, text)
  append_pair(reply, place, part)
  reply[#reply + 1] = text
end

-- put_specs appends the specs of jobs that are given by id and place in turn.
local function put_specs(reply, list)
  local keys = {}
  for i = 1, #list, 2 do
    keys[#keys + 1] = SPEC .. list[i]
  end
  if #keys == 0 then
    return
  end
  for i, spec in ipairs(redis.call('MGET', unpack(keys))) do
    if spec then
      put_part(reply, list[2 * i], 's', spec)
    end
  end
end
