UPDATE braid_flows SET standing = ?2, turn = ?3, armed_at = ifnull(?4, armed_at) WHERE flow = ?1;
