SELECT minute, counts FROM @depths WHERE minute >= $1::bigint AND minute < $2::bigint ORDER BY minute;
