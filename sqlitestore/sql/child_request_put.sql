INSERT INTO braid_child_requests (child, request, payload) VALUES (?1, ?2, ?3)
ON CONFLICT DO UPDATE SET request = excluded.request, payload = excluded.payload;
