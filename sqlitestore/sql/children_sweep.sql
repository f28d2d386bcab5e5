DELETE FROM braid_children WHERE child IN
  (SELECT child FROM braid_children WHERE flow = ?1 ORDER BY child_key LIMIT ?2);
