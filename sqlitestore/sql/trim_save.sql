INSERT INTO braid_trims (name, state, finished_at, turn) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT DO UPDATE SET finished_at = excluded.finished_at, turn = excluded.turn;
