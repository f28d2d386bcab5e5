SELECT * FROM braid_records WHERE job = ?1;
