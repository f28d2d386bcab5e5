DROP TABLE @schedules;
