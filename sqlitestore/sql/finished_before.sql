-- A group's jobs before a place, oldest first.
SELECT job FROM braid_jobs WHERE state >= 5 AND name = ?1 AND state = ?2 AND owing = 0 AND (finished_at, turn) < (?3, ?4)
ORDER BY finished_at, turn LIMIT ?5;
