UPDATE braid_flows SET pending = ?2, completed = ?3, failed = ?4, cancelled = ?5 WHERE flow = ?1;
