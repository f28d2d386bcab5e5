SELECT flow FROM braid_flows WHERE standing = 3 ORDER BY turn LIMIT ?1;
