-- A sweep has nothing to do for the flow.
UPDATE braid_flows SET standing = 0, asked_turn = NULL WHERE flow = ?1;
