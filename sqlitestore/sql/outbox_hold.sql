UPDATE braid_outbox SET held_until = ?2 WHERE entry = ?1;
