-- Forgets outcomes that nobody has fetched.
DELETE FROM @watches WHERE watch = ANY(ARRAY(
  SELECT watch FROM @watches WHERE ended_at IS NOT NULL AND ended_at <= $1::bigint LIMIT $2::int FOR UPDATE SKIP LOCKED));
