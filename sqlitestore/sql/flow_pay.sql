UPDATE braid_flows SET owed = owed - 1 WHERE flow = ?1 RETURNING owed;
