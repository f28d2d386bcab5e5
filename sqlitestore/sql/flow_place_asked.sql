-- The flow's place among those with rows that were returned as owed.
UPDATE braid_flows SET asked_turn =
  (SELECT turn FROM braid_children WHERE flow = ?1 AND place = 3 ORDER BY turn LIMIT 1)
WHERE flow = ?1;
