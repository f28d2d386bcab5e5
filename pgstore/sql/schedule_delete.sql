DELETE FROM @schedules WHERE key = $1::text;
