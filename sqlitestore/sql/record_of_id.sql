SELECT * FROM braid_records WHERE id = ?1;
