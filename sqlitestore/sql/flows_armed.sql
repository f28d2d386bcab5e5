SELECT flow FROM braid_flows WHERE standing = 1 AND armed_at <= ?1 ORDER BY armed_at, turn LIMIT ?2;
