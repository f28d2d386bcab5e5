SELECT fail_fast, pending, completed, failed, cancelled FROM braid_flows WHERE flow = ?1;
