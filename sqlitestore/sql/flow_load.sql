SELECT children, fail_fast, pending, completed, failed, cancelled, landed_at, settled_early, owed FROM braid_flows WHERE flow = ?1;
