-- Deleting a job with everything that hangs on it.
-- uses: place, dedupe, flow, watch

-- release takes a terminal job back from retention, and from the list of the finished.
local function release(job)
  if not terminal(job.state) then
    return
  end
  if job.retained then
    zrem(ENDED .. job.state, job.id)
    zrem(GROUP .. job.state .. ':' .. job.name, job.finish .. job.id)
    if job.keep ~= '' then
      zrem(EXPIRY, job.id)
    end
    job.retained = false
  else
    zrem(OWING .. job.state, job.id)
  end
end

-- delete removes a job.
local function delete(job)
  release(job)
  detach(job)
  free_dedupe(job)
  zrem(LIST, job.id)
  zrem(LISTQ .. job.queue, job.id)
  zrem(LISTN .. job.name, job.id)
  resident(job.queue, -1)
  erase(HEAD .. job.id)
  new_heads[job.id] = nil
  if spec_is_apart(job) then
    erase(SPEC .. job.id)
  end
  if job.entries > 0 then
    erase(EXIT .. job.id)
    if job.entries > 1 then
      erase(LEDGER .. job.id)
    end
  end
  if job.flow then
    abandon_flow(job)
  end
  jobs[job.id] = false
  announce_end(job, 0, '', '')
end
