SELECT flow FROM braid_flows WHERE asked_turn IS NOT NULL ORDER BY asked_turn LIMIT ?1;
