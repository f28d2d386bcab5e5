SELECT minute, counts FROM braid_depths WHERE minute >= ?1 AND minute < ?2 ORDER BY minute;
