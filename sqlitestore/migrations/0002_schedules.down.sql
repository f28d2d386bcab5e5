DROP TABLE braid_schedules;
