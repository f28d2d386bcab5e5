SELECT job, precedence, seq FROM braid_jobs WHERE state = 1 AND queue = ?1 AND name = ?2 AND (precedence, seq) > (?3, ?4)
ORDER BY precedence, seq LIMIT ?5;
