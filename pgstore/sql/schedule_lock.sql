-- Locks a schedule whose slot is due, and tells whether its last job is still at it.
SELECT s.overlap = 1 AND EXISTS (SELECT 1 FROM @jobs j WHERE j.id = s.last_job_id AND j.state + 0 < 5)
FROM @schedules s WHERE s.key = $1::text AND s.next_run_at = $2::bigint FOR UPDATE OF s;
