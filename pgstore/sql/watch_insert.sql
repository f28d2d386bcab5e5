INSERT INTO @watches (watch, listener, id) VALUES ($1::bigint, $2::text, $3::text);
