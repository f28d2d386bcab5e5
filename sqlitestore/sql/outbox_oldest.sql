SELECT at FROM braid_outbox WHERE entry > 0 ORDER BY entry LIMIT 1;
