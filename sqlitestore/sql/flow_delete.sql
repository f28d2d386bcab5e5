DELETE FROM braid_flows WHERE flow = ?1;
