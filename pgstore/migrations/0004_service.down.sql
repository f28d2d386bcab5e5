DROP TABLE @depths;
DROP TABLE @stat_changes;
DROP TABLE @stats;
DROP TABLE @workers;
