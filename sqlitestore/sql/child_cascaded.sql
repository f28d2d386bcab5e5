-- Pays the debt of a row that was cancelled by an early settle.
UPDATE braid_children SET status = 4, cascaded = 1, place = 0, armed_at = NULL, turn = NULL
WHERE flow = ?1 AND child_key = ?2 AND status = 1 AND (SELECT settled_early FROM braid_flows WHERE flow = ?1);
