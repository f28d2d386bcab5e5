SELECT queue FROM @paused ORDER BY queue;
