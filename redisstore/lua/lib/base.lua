-- What every script begins with. KEYS[1] is the prefix, from which the loader makes the
-- constants for keys. ARGV[1] is now, as 8 bytes, or empty where the script reads no
-- time. ARGV[2] holds one letter per setting: n and q: the list index by name, by queue
-- is on; s: publish to a shard; t: count runs.
--
-- Times and seqs are kept as 8 bytes, big-endian, because a Lua number cannot hold each
-- of them; as numbers they serve for scores and comparisons only.

local WAITING, DELAYED_STATE, ACTIVE_STATE, PARKED_STATE = 1, 2, 3, 4
local COMPLETED, FAILED, CANCELLED = 5, 6, 7

-- The outcomes of the ledger.
local BY_COMPLETE, BY_RETRY, BY_FAIL, BY_STALL, BY_CANCEL, BY_FAN_OUT = 1, 2, 3, 4, 5, 6

local ZERO8 = '\0\0\0\0\0\0\0\0'

local now8 = ARGV[1]
local settings = ARGV[2]

-- number reads 8 bytes.
local function number(bytes)
  return (struct.unpack('>i8', bytes))
end

-- bytes writes 8 bytes. What a number cannot be is cut to the ends of the range.
local function bytes(n)
  if n >= 9223372036854775807 then
    return '\127\255\255\255\255\255\255\255'
  end
  return struct.pack('>i8', n)
end

-- score_text writes a number as a score, as the server would for each of its uses.
local function score_text(n)
  return string.format('%.17g', n)
end

local now = now8 ~= '' and number(now8) or nil
local now_text = now and score_text(now)

-- setting reports whether a setting is on.
local function setting(letter)
  return string.find(settings, letter, 1, true) ~= nil
end

-- scoped puts two texts into one, so that no two pairs look alike.
local function scoped(first, second)
  return #first .. ':' .. first .. ':' .. second
end
