UPDATE braid_children SET place = ?2, armed_at = ?3, turn = ?4 WHERE child = ?1;
