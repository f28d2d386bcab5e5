DELETE FROM braid_payloads WHERE job = ?1;
