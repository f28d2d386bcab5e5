DELETE FROM braid_workers WHERE id = ?1;
