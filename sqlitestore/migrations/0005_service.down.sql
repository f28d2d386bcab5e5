DROP TABLE braid_depths;
DROP TABLE braid_stats;
DROP TABLE braid_workers;
