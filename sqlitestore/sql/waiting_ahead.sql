-- How many waiting jobs of a name stand before a place, counted to a limit.
SELECT count(*) FROM
  (SELECT 1 FROM braid_jobs WHERE state = 1 AND queue = ?1 AND name = ?2 AND (precedence, seq) < (?3, ?4) LIMIT ?5);
