DROP TABLE braid_stats;
DROP TABLE braid_workers;
