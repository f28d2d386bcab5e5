SELECT count(*) FROM (SELECT 1 FROM @jobs WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE) AS locked;
