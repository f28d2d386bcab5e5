SELECT entry FROM braid_outbox WHERE store_key = ?1 AND entry > ?2 ORDER BY entry LIMIT ?3;
