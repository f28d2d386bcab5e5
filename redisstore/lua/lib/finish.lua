-- How a job leaves its state.
-- uses: ledger, keep, outbox, flow

-- unlock ends an active job's lock.
local function unlock(job)
  if job.token == '' then
    return
  end
  give_up(job.token)
  abandon_staged(job)
  job.token, job.worker, job.lockExpiresAt, job.cancel = '', '', ZERO8, false
end

-- finish makes a job terminal, whatever led there. The job may be gone when the call
-- ends. exit and reason are empty if there is none. trim_all must follow.
local function finish(job, state, outcome, exit, reason)
  log(job, outcome, exit)
  detach(job)
  unlock(job)
  job.state, job.finishedAt, job.finish, job.reason = state, now8, next_seq(), reason
  attach(job)
  free_dedupe(job)
  if job.parent ~= '' then
    report_end(job.finish, job.id, job.parent, state, exit, reason)
  end
  announce_end(job, state, exit, reason)
  if job.flow and owes_cascades(job) then
    zadd(OWING .. state, now_text, job.id)
  else
    trim(job)
    retain(job)
  end
end

-- cancel_job finishes a job as cancelled.
local function cancel_job(job)
  finish(job, CANCELLED, BY_CANCEL, '', '')
end

-- send_back makes a job waiting or delayed, and wakes its queue. run_at is 8 bytes, or
-- false to keep the time; anew puts the job behind the others.
local function send_back(job, state, run_at, anew)
  detach(job)
  unlock(job)
  job.state = state
  job.runAt = run_at or job.runAt
  if anew then
    job.seq = next_seq()
  end
  attach(job)
  wake(job.queue)
end

-- cancel cancels a job that is not terminal, or requests it of its worker. It returns
-- the state after that.
local function cancel(job)
  if job.state == ACTIVE_STATE then
    job.cancel = true
    save(job)
    announce_cancel(job)
    return ACTIVE_STATE
  end
  if job.state == PARKED_STATE then
    settle_early(job)
  end
  cancel_job(job)
  return CANCELLED
end
