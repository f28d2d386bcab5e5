-- Deletes records that expired first, but for that of the worker $2, whose row the
-- transaction has: it waits for nobody while it holds that.
DELETE FROM @workers WHERE id = ANY(ARRAY(
  SELECT id FROM @workers WHERE expires_at <= $1::bigint AND id <> $2::text
  ORDER BY expires_at LIMIT $3::int FOR UPDATE SKIP LOCKED
));
