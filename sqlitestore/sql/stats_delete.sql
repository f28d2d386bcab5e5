DELETE FROM braid_stats WHERE minute = ?1;
