SELECT store_key FROM braid_outbox WHERE store_key > ?1 ORDER BY store_key LIMIT 1;
