-- The counters.
SELECT commits, seq, ids, turns, wakes, entries, outbox FROM braid_store WHERE one = 1;
