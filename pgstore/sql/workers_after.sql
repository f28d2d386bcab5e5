-- Records of living workers behind an id; NULL from the one on that does not fit into
-- $4 bytes. The first one always does.
SELECT CASE WHEN total <= $4::bigint OR n = 1 THEN record END FROM (
  SELECT record, sum(octet_length(record)) OVER best AS total, row_number() OVER best AS n FROM (
    SELECT id, record FROM @workers WHERE id > $1::text AND expires_at > $2::bigint ORDER BY id LIMIT $3::int
  ) AS w WINDOW best AS (ORDER BY id)
) AS sized ORDER BY n;
