DELETE FROM braid_flows WHERE flow = ?1 AND children <= 0;
