SELECT entry FROM braid_outbox WHERE store_key = ?1 AND entry > ?2 AND held_until IS NULL ORDER BY entry LIMIT ?3;
