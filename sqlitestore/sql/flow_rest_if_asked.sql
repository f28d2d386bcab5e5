-- Nothing is left that no sweep has returned as owed.
UPDATE braid_flows SET standing = 0 WHERE flow = ?1 AND standing = 3
  AND NOT EXISTS (SELECT 1 FROM braid_children WHERE flow = ?1 AND place = 1)
  AND NOT EXISTS (SELECT 1 FROM braid_children WHERE flow = ?1 AND place = 2);
