UPDATE braid_store SET commits = ?1, seq = ?2, ids = ?3, turns = ?4, wakes = ?5, entries = ?6, outbox = ?7 WHERE one = 1;
