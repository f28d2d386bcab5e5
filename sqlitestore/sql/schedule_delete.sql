DELETE FROM braid_schedules WHERE key = ?1;
