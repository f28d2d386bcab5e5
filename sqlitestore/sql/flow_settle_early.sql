-- The pending rows read as cancelled from now on, and their cascades are owed.
UPDATE braid_flows SET settled_early = 1, owed = pending, cancelled = cancelled + pending, pending = 0,
  standing = iif(pending > 0, 3, 0), turn = ?2, asked_turn = NULL
WHERE flow = ?1;
