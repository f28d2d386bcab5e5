DELETE FROM @dedupe WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM @dedupe WHERE expires_at IS NOT NULL AND expires_at <= $1::bigint ORDER BY expires_at LIMIT $2::int
  FOR UPDATE SKIP LOCKED));
