SELECT 1 FROM braid_children WHERE flow = ?1 AND place = 1 LIMIT 1;
