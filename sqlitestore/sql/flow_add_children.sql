UPDATE braid_flows SET children = children + ?2 WHERE flow = ?1;
