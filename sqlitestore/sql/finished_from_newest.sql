-- The place of one job in its group, counted from the newest.
SELECT finished_at, turn FROM braid_jobs WHERE state >= 5 AND name = ?1 AND state = ?2 AND owing = 0
ORDER BY finished_at DESC, turn DESC LIMIT 1 OFFSET ?3;
