-- What is not held any more is ready.
UPDATE braid_outbox SET held_until = NULL WHERE store_key = ?1 AND held_until IS NOT NULL AND held_until <= ?2;
