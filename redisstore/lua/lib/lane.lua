-- The names of lanes: the waiting jobs of a queue and name.
-- uses: base

-- Keys that are put together once per call, by queue and name.
local lane_keys = {}

local function lane_key(queue, name)
  local keys = lane_keys[queue]
  if not keys then
    keys = {}
    lane_keys[queue] = keys
  end
  local key = keys[name]
  if not key then
    key = LANE .. scoped(queue, name)
    keys[name] = key
  end
  return key
end
