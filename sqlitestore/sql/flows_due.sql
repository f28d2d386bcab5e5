SELECT flow FROM braid_flows WHERE standing = 2 ORDER BY turn LIMIT ?1;
