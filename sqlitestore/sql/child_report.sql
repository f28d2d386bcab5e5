-- A report applies to a pending row; an empty job id is not checked.
UPDATE braid_children SET status = ?4, failed_reason = ?5, exit = ?6, cascaded = 1, place = 0, armed_at = NULL, turn = NULL
WHERE flow = ?1 AND child_key = ?2 AND status = 1 AND (?3 = '' OR job_id = ?3);
