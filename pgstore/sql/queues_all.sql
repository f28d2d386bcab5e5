-- Queues that hold a job in any state or are paused.
SELECT queue FROM (
  SELECT queue FROM (SELECT queue, jobs FROM @counts WHERE state BETWEEN 1 AND 7 UNION ALL SELECT queue, jobs FROM @changes WHERE state BETWEEN 1 AND 7) AS c
  GROUP BY queue HAVING sum(jobs) > 0
  UNION SELECT queue FROM @paused
) AS q ORDER BY queue;
