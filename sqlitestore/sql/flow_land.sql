-- The rows that are staged become the flow's.
UPDATE braid_flows SET fail_fast = ?2, pending = children, landed_at = ?3, standing = ?4, armed_at = ?3, turn = ?5 WHERE flow = ?1;
