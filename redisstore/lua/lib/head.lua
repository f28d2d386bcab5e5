-- The head of a job: what the scripts that handle plain jobs know of its layout. The rest
-- is in lib/record.lua; record.go describes it all.
-- uses: tally

local RUN_FORMAT = '>i4i4i8Bc8c8c8c8Hc0Hc0Hc0Hc0'
local RUN_FROM = 31                    -- where the run begins, if there is one
local RETAINED = 8                     -- the flag that retention has the job
local RAN, BOUND, APART = 32, 64, 128 -- the flags that tell which parts there are

-- bit_of tells whether the bit of that value is set in a byte.
local function bit_of(byte, value)
  return byte % (2 * value) >= value
end

-- static_from returns where the part of a head that seldom changes begins.
local function static_from(head)
  if bit_of(string.byte(head, 2), RAN) then
    return RUN_FROM + 2 + struct.unpack('>H', head, RUN_FROM)
  end
  return RUN_FROM
end
