INSERT INTO braid_depths (minute, counts) VALUES (?1, ?2) ON CONFLICT DO NOTHING;
