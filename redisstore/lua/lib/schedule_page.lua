-- Pages of schedules.
-- uses: changes

-- schedule_page returns the schedules of some keys: 1 if there are more, else 0; then
-- key and schedule of each, at least one, until the bytes end the page. A key whose
-- schedule is gone is taken out of the orders.
local function schedule_page(keys, bytes_left, more)
  local reply = { more and 1 or 0 }
  for from = 1, #keys, 25 do
    local page, names = { unpack(keys, from, math.min(from + 24, #keys)) }, {}
    for i, key in ipairs(page) do
      names[i] = SCHEDULE .. key
    end
    for i, schedule in ipairs(redis.call('MGET', unpack(names))) do
      if schedule then
        bytes_left = bytes_left - #schedule
        if bytes_left < 0 and #reply > 1 then
          reply[1] = 1
          flush_orders()
          return reply
        end
        reply[#reply + 1] = page[i]
        reply[#reply + 1] = schedule
        if #schedule < 8 then -- damaged, and with it the slot by which the due ones are paged
          zrem(DUE, page[i])
        end
      else
        zrem(SCHEDULES, page[i])
        zrem(DUE, page[i])
      end
    end
  end
  flush_orders()
  return reply
end
