SELECT armed_at FROM braid_children WHERE flow = ?1 AND place = 2 ORDER BY armed_at, turn LIMIT 1;
