INSERT INTO @depths (minute, counts) VALUES ($1::bigint, $2::text) ON CONFLICT DO NOTHING;
