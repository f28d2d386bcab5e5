SELECT flow FROM braid_flows WHERE standing = 4 ORDER BY turn LIMIT 1;
