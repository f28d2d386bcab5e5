DELETE FROM braid_outbox WHERE entry = ?1;
