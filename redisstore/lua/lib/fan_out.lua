-- The end of a flow parent's first phase.
-- uses: finish

-- land makes the rows that an active job has staged its flow's.
local function land(job, fail_fast, children)
  local flow = {
    id = job.id, number = staged_number(job), fail_fast = fail_fast, early = false, landed = now8,
    pending = children, completed = 0, failed = 0, cancelled = 0, owed = 0,
  }
  if job.staged then
    erase(STAGED .. job.id)
    job.staged = false
  end
  job.flow = true
  flows[job.id] = flow
  if children > 0 then
    zadd(FLOWSPARKED, now, job.id)
  end
  save_flow(flow)
end

-- fan_out ends the first phase of an active flow parent: an ack with fail_fast (a
-- boolean) and the number of children. It returns the state that the job is in then, or
-- 0 and how many children are staged if that is another number.
local function fan_out(job, fail_fast, children)
  local cancelled = job.cancel
  if not job.flow then
    local number_text = staged_number(job)
    local staged = number_text ~= '' and redis.call('ZCARD', CHILDREN .. number_text) or 0
    if staged ~= children then
      return 0, staged
    end
    land(job, fail_fast, children)
    if cancelled then
      settle_early(job)
    end
  end
  if cancelled then
    cancel_job(job)
    return CANCELLED
  end
  log(job, BY_FAN_OUT, '')
  local flow = get_flow(job.id)
  if not flow or flow.pending == 0 then
    send_back(job, WAITING, now8, false)
    return WAITING
  end
  detach(job)
  unlock(job)
  job.state = PARKED_STATE
  attach(job)
  return PARKED_STATE
end
