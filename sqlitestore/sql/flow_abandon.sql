UPDATE braid_flows SET standing = 4, turn = ?2, asked_turn = NULL WHERE flow = ?1;
