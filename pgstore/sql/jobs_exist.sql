SELECT id FROM @jobs WHERE id = ANY($1::text[]);
