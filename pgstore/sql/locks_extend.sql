UPDATE @jobs j SET lock_expires_at = $3::bigint
FROM (SELECT * FROM unnest($1::text[], $2::text[]) AS u (id, token) ORDER BY id COLLATE "C") AS u
WHERE j.id = u.id AND j.state + 0 = 3 AND j.token = u.token
RETURNING j.id, j.token, j.cancel_requested, true;
